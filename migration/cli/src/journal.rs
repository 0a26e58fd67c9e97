//! What happened to each volume, in a file and in the cluster.
//!
//! Both copies hold everything that a way forward or back needs: the originals, the new objects, the
//! workload. Either is enough. The newer one counts, by its sequence number.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use azcsi_kube::KubeError;
use azcsi_kube::objects::{Effect, Objects};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::plan::{Item, journal_name};
use crate::resources::{CONFIG_MAPS, TOOL};
use crate::step::Step;
use crate::value::{name, text, version};

/// Longest journal; a ConfigMap holds 1 MiB.
const LIMIT: usize = 900 << 10;
/// Lines of history that are kept.
const HISTORY: usize = 200;

/// The state of one volume's conversion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Grows with every write.
    pub sequence: u64,
    /// The plan that it comes from.
    pub plan: String,
    /// What is converted, and how.
    pub item: Item,
    /// The step that is being done, or was done last.
    pub step: Step,
    /// Whether that step is done.
    pub done: bool,
    /// When the workload ran again (RFC 3339).
    #[serde(default)]
    pub resumed: Option<String>,
    /// What happened.
    pub history: Vec<String>,
}

impl Record {
    /// The beginning.
    #[must_use]
    pub const fn new(plan: String, item: Item) -> Self {
        Self {
            sequence: 0,
            plan,
            item,
            step: Step::Journaled,
            done: false,
            resumed: None,
            history: Vec::new(),
        }
    }

    /// Whether a way was gone to its end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.done && self.step.next().is_none()
    }

    /// One line of history.
    pub fn note(&mut self, at: &str, what: &str) {
        self.history.push(format!("{at} {what}"));
        let surplus = self.history.len().saturating_sub(HISTORY);
        self.history.drain(..surplus);
    }
}

/// Where records are kept.
#[derive(Clone, Debug)]
pub struct Journal {
    folder: PathBuf,
    objects: Objects,
    namespace: String,
}

impl Journal {
    /// In a folder, and in a namespace of the cluster.
    #[must_use]
    pub const fn new(folder: PathBuf, objects: Objects, namespace: String) -> Self {
        Self {
            folder,
            objects,
            namespace,
        }
    }

    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Writes a record to both places, the file first.
    ///
    /// # Errors
    /// Either cannot be written. Nothing may be done then.
    pub async fn write(&self, record: &mut Record) -> Result<(), Failure> {
        record.sequence += 1;
        let content = serde_json::to_string(record).map_err(|error| Failure::Document {
            what: "the journal".to_owned(),
            why: error.to_string(),
        })?;
        if content.len() > LIMIT {
            return Err(Failure::Blocked(format!(
                "the journal of {} would have {} bytes, more than a ConfigMap holds",
                record.item.volume,
                content.len()
            )));
        }
        write_file(&self.path(&record.item.volume), &content)?;
        self.write_object(&record.item.volume, &content).await
    }

    /// The newer of both copies.
    ///
    /// # Errors
    /// A copy cannot be read, or is no record.
    pub async fn read(&self, volume: &str) -> Result<Option<Record>, Failure> {
        let here = self.read_file(&self.path(volume))?;
        let there = self.read_object(volume).await?;
        Ok(newer(here, there))
    }

    /// Checks that both copies are there and alike.
    ///
    /// # Errors
    /// They are not.
    pub async fn confirm(&self, record: &Record) -> Result<(), Failure> {
        let volume = &record.item.volume;
        let here = self.read_file(&self.path(volume))?;
        let there = self.read_object(volume).await?;
        for (copy, place) in [
            (here, "the journal file"),
            (there, "the journal in the cluster"),
        ] {
            if copy.as_ref() != Some(record) {
                return Err(Failure::Stopped(format!(
                    "{place} of {volume} does not read back"
                )));
            }
        }
        Ok(())
    }

    /// All records, from both places.
    ///
    /// # Errors
    /// A place cannot be read.
    pub async fn all(&self) -> Result<Vec<Record>, Failure> {
        let mut volumes = self.volumes_of_files()?;
        let found = &mut volumes;
        self.objects
            .each(&CONFIG_MAPS, Some(&self.namespace), |map| {
                if text(&map, "/metadata/labels/app.kubernetes.io~1managed-by") == TOOL
                    && let Some(record) = record_of(&map)
                {
                    found.push(record.item.volume);
                }
            })
            .await?;
        volumes.sort();
        volumes.dedup();
        let mut out = Vec::new();
        for volume in volumes {
            out.extend(self.read(&volume).await?);
        }
        Ok(out)
    }

    /// Moves the file aside once a conversion is final. The copy in the cluster stays.
    ///
    /// # Errors
    /// The file cannot be moved.
    pub fn archive(&self, volume: &str) -> Result<(), Failure> {
        let from = self.path(volume);
        let folder = self.folder.join("archive");
        std::fs::create_dir_all(&folder).map_err(|e| Failure::file("make", &folder, e))?;
        let to = folder.join(format!("{}.json", journal_name(volume)));
        match std::fs::rename(&from, &to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::file("move", &from, error))
            }
            _ => Ok(()),
        }
    }

    fn path(&self, volume: &str) -> PathBuf {
        self.folder.join(format!("{}.json", journal_name(volume)))
    }

    fn read_file(&self, path: &Path) -> Result<Option<Record>, Failure> {
        let content = match std::fs::read(path) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::file("read", path, error)),
        };
        let record = serde_json::from_slice(&content).map_err(|error| Failure::Document {
            what: path.display().to_string(),
            why: error.to_string(),
        })?;
        Ok(Some(record))
    }

    fn volumes_of_files(&self) -> Result<Vec<String>, Failure> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Failure::file("read", &self.folder, error)),
        };
        let mut out = Vec::new();
        for entry in entries {
            let path = entry
                .map_err(|e| Failure::file("read", &self.folder, e))?
                .path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                out.extend(self.read_file(&path)?.map(|record| record.item.volume));
            }
        }
        Ok(out)
    }

    async fn read_object(&self, volume: &str) -> Result<Option<Record>, Failure> {
        let name = journal_name(volume);
        let map = self
            .objects
            .get(&CONFIG_MAPS, Some(&self.namespace), &name)
            .await?;
        Ok(map.as_ref().and_then(record_of))
    }

    async fn write_object(&self, volume: &str, content: &str) -> Result<(), Failure> {
        let place = Some(self.namespace.as_str());
        let name_of_map = journal_name(volume);
        let mut body = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": name_of_map, "namespace": self.namespace,
                "labels": {"app.kubernetes.io/managed-by": TOOL},
            },
            "data": {"record": content},
        });
        // Somebody may touch the object meanwhile; its content is only ours.
        for _ in 0..5 {
            let now = self.objects.get(&CONFIG_MAPS, place, &name_of_map).await?;
            let written = match &now {
                None => {
                    self.objects
                        .create(&CONFIG_MAPS, place, &body, Effect::Real)
                        .await
                }
                Some(map) => {
                    body["metadata"]["resourceVersion"] = json!(version(map));
                    self.objects.replace(&CONFIG_MAPS, place, &body).await
                }
            };
            match written {
                Err(KubeError::Conflict { .. }) => {}
                other => return other.map(|_| ()).map_err(Failure::from),
            }
        }
        Err(Failure::Stopped(format!(
            "the ConfigMap {name_of_map} is changed by somebody else"
        )))
    }
}

fn newer(one: Option<Record>, other: Option<Record>) -> Option<Record> {
    match (one, other) {
        (Some(one), Some(other)) if other.sequence > one.sequence => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}

fn record_of(map: &Value) -> Option<Record> {
    let record: Record = serde_json::from_str(text(map, "/data/record")).ok()?;
    (journal_name(&record.item.volume) == name(map)).then_some(record)
}

/// Writes a file so that it is there whole or not at all.
fn write_file(path: &Path, content: &str) -> Result<(), Failure> {
    let wrong = |error| Failure::file("write", path, error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(wrong)?;
    }
    let part = path.with_extension("part");
    let mut file = File::create(&part).map_err(wrong)?;
    file.write_all(content.as_bytes()).map_err(wrong)?;
    file.sync_all().map_err(wrong)?;
    drop(file);
    std::fs::rename(&part, path).map_err(wrong)
}
