//! The cluster as a user sees it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::shell;
use crate::wait::eventually;

/// The common patience: starting pods on two shared cores.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// `kubectl` with the rights of an administrator.
#[derive(Clone, Debug)]
pub(crate) struct Kubectl {
    program: PathBuf,
    config: String,
}

impl Kubectl {
    pub(crate) fn new(programs: &Path, config: &Path) -> Self {
        Self {
            program: programs.join("kubectl"),
            config: config.display().to_string(),
        }
    }

    /// The kubeconfig file.
    pub(crate) fn config(&self) -> &str {
        &self.config
    }

    /// Runs it.
    pub(crate) async fn run(&self, args: &[&str]) -> Result<String> {
        self.with_input(args, "").await
    }

    async fn with_input(&self, args: &[&str], input: &str) -> Result<String> {
        let args = [&["--kubeconfig", &self.config][..], args].concat();
        shell::run(&self.program, &args, input).await
    }

    /// Applies objects.
    pub(crate) async fn apply(&self, objects: &str) -> Result<()> {
        let args = ["apply", "--filename", "-"];
        self.with_input(&args, objects).await.map(drop)
    }

    /// Has the API server look at objects and change nothing.
    pub(crate) async fn try_out(&self, file: &str) -> Result<()> {
        let args = ["apply", "--dry-run=server", "--filename", file];
        self.run(&args).await.map(drop)
    }

    /// One object, `kind/name`.
    pub(crate) async fn get(&self, object: &str) -> Result<Value> {
        let text = self.run(&["get", object, "--output", "json"]).await?;
        Ok(serde_json::from_str(&text)?)
    }

    /// The objects of a kind, in the common namespace.
    pub(crate) async fn list(&self, kind: &str) -> Result<Vec<Value>> {
        let all = self.get(kind).await?;
        Ok(all["items"].as_array().context("a list")?.clone())
    }

    /// Deletes an object, if it is there, and does not wait.
    pub(crate) async fn delete(&self, object: &str) -> Result<()> {
        let args = ["delete", object, "--ignore-not-found", "--wait=false"];
        self.run(&args).await.map(drop)
    }

    /// Waits until a field has a value; `path` is a JSON pointer.
    pub(crate) async fn until(&self, object: &str, path: &str, value: &str) -> Result<()> {
        let what = format!("{object}: {path} is {value}");
        eventually(&what, PATIENCE, async || {
            let found = self.get(object).await?;
            let found = found.pointer(path).unwrap_or(&Value::Null);
            let text = found
                .as_str()
                .map_or_else(|| found.to_string(), str::to_owned);
            ensure!(text == value, "it is {text}");
            Ok(())
        })
        .await
    }

    /// Waits until an object is gone.
    pub(crate) async fn until_gone(&self, object: &str) -> Result<()> {
        eventually(&format!("{object} is gone"), PATIENCE, async || {
            let found = self
                .run(&["get", object, "--ignore-not-found", "--output", "name"])
                .await?;
            ensure!(found.trim().is_empty(), "it is there");
            Ok(())
        })
        .await
    }

    /// Deletes an object and waits until it is gone.
    pub(crate) async fn remove(&self, object: &str) -> Result<()> {
        self.delete(object).await?;
        self.until_gone(object).await
    }

    /// Waits until a pod runs.
    pub(crate) async fn running(&self, pod: &str) -> Result<()> {
        self.until(&format!("pod/{pod}"), "/status/phase", "Running")
            .await
    }

    /// Runs a shell command in a pod.
    pub(crate) async fn shell(&self, pod: &str, command: &str) -> Result<String> {
        let output = self.run(&["exec", pod, "--", "sh", "-c", command]).await?;
        Ok(output.trim().to_owned())
    }
}
