//! Lists that come in pages.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::client::{ArmClient, decode};
use super::error::ArmError;
use super::request::ArmRequest;
use crate::compute::types::GroupScope;
use crate::environment::ApiFamily;
use azcsi_types::op::Op;
use http::Method;

/// More pages than any list of a subscription has; ends a list that leads in a circle.
const PAGE_LIMIT: usize = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(deserialize = "T: DeserializeOwned"))]
struct Page<T> {
    value: Vec<T>,
    #[serde(default)]
    next_link: Option<String>,
}

impl ArmClient {
    /// Every resource of a type of the family's provider in a scope.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        op: &Op,
        family: ApiFamily,
        scope: &GroupScope,
        kind: &str,
    ) -> Result<Vec<T>, ArmError> {
        self.list_some(op, family, (scope, kind), Some).await
    }

    /// What `keep` makes of each resource. Only a page at a time is held as a whole.
    pub(crate) async fn list_some<T: DeserializeOwned, U>(
        &self,
        op: &Op,
        family: ApiFamily,
        (scope, kind): (&GroupScope, &str),
        keep: impl Fn(T) -> Option<U>,
    ) -> Result<Vec<U>, ArmError> {
        let provider = family.provider();
        let path = match scope {
            GroupScope::ResourceGroup {
                subscription,
                resource_group,
            } => format!(
                "/subscriptions/{subscription}/resourceGroups/{resource_group}/providers/{provider}/{kind}"
            ),
            GroupScope::Subscription { subscription } => {
                format!("/subscriptions/{subscription}/providers/{provider}/{kind}")
            }
        };
        self.pages(op, family, (&path, &[]), keep).await
    }

    /// Every member of a list, over all its pages.
    pub(crate) async fn list_path<T: DeserializeOwned>(
        &self,
        op: &Op,
        family: ApiFamily,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, ArmError> {
        self.pages(op, family, (path, query), Some).await
    }

    async fn pages<T: DeserializeOwned, U>(
        &self,
        op: &Op,
        family: ApiFamily,
        (path, query): (&str, &[(&str, &str)]),
        keep: impl Fn(T) -> Option<U>,
    ) -> Result<Vec<U>, ArmError> {
        let mut request = ArmRequest::new(self.environment(), Method::GET, family, path, query);
        let mut all = Vec::new();
        for _ in 0..PAGE_LIMIT {
            let response = self.send(op, &request).await?;
            let page: Page<T> = decode(&response).map_err(|e| e.during(|| request.name()))?;
            all.extend(page.value.into_iter().filter_map(&keep));
            match page.next_link {
                Some(link) if !link.is_empty() => {
                    request = ArmRequest::verbatim(self.environment(), &link, &request)
                        .map_err(|e| e.during(|| request.name()))?;
                }
                _ => return Ok(all),
            }
        }
        Err(ArmError::protocol("the list has no end").during(|| request.name()))
    }
}
