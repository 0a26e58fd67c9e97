//! The resources that the stub serves, and the grammar of their URLs.

/// One resource of the Kubernetes API.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// Name in URLs.
    pub plural: &'static str,
    /// Name in objects.
    pub kind: &'static str,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
}

impl Resource {
    const fn new(group: &'static str, plural: &'static str, kind: &'static str) -> Self {
        Self {
            group,
            plural,
            kind,
            namespaced: false,
        }
    }

    const fn in_namespaces(mut self) -> Self {
        self.namespaced = true;
        self
    }

    /// `v1` or `group/v1`; every resource here is at version 1.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            "v1".to_owned()
        } else {
            format!("{}/v1", self.group)
        }
    }
}

/// Everything the stub knows.
pub static RESOURCES: [Resource; 19] = [
    Resource::new("", "nodes", "Node"),
    Resource::new("", "secrets", "Secret").in_namespaces(),
    Resource::new("", "events", "Event").in_namespaces(),
    Resource::new("", "persistentvolumes", "PersistentVolume"),
    Resource::new("", "persistentvolumeclaims", "PersistentVolumeClaim").in_namespaces(),
    Resource::new("", "configmaps", "ConfigMap").in_namespaces(),
    Resource::new("", "pods", "Pod").in_namespaces(),
    Resource::new("apps", "daemonsets", "DaemonSet").in_namespaces(),
    Resource::new("apps", "deployments", "Deployment").in_namespaces(),
    Resource::new("apps", "replicasets", "ReplicaSet").in_namespaces(),
    Resource::new("apps", "statefulsets", "StatefulSet").in_namespaces(),
    Resource::new("batch", "cronjobs", "CronJob").in_namespaces(),
    Resource::new("batch", "jobs", "Job").in_namespaces(),
    Resource::new("coordination.k8s.io", "leases", "Lease").in_namespaces(),
    Resource::new("events.k8s.io", "events", "Event").in_namespaces(),
    Resource::new("storage.k8s.io", "csidrivers", "CSIDriver"),
    Resource::new("storage.k8s.io", "csinodes", "CSINode"),
    Resource::new("storage.k8s.io", "storageclasses", "StorageClass"),
    Resource::new("storage.k8s.io", "volumeattachments", "VolumeAttachment"),
];

/// What a URL path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The resource.
    pub resource: &'static Resource,
    /// The namespace; `None` for all of them or for a resource without namespaces.
    pub namespace: Option<String>,
    /// The object; `None` for the collection.
    pub name: Option<String>,
    /// Whether only the status is meant.
    pub part: Part,
}

/// Which part of an object a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All but the status.
    Whole,
    /// The `/status` subresource.
    Status,
}

impl Target {
    /// Reads a path such as `/apis/storage.k8s.io/v1/volumeattachments/x/status`.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let mut parts = path.trim_matches('/').split('/');
        let group = match parts.next()? {
            "api" => "",
            "apis" => parts.next()?,
            _ => return None,
        };
        if parts.next()? != "v1" {
            return None;
        }
        let rest: Vec<&str> = parts.collect();
        match rest.as_slice() {
            ["namespaces", namespace, plural, tail @ ..] => {
                let resource = find(group, plural)?;
                if !resource.namespaced {
                    return None;
                }
                Self::build(resource, Some((*namespace).to_owned()), tail)
            }
            [plural] => Self::build(find(group, plural)?, None, &[]),
            [plural, tail @ ..] => {
                let resource = find(group, plural)?;
                if resource.namespaced {
                    return None;
                }
                Self::build(resource, None, tail)
            }
            [] => None,
        }
    }

    fn build(
        resource: &'static Resource,
        namespace: Option<String>,
        tail: &[&str],
    ) -> Option<Self> {
        let (name, part) = match tail {
            [] => (None, Part::Whole),
            [name] => (Some((*name).to_owned()), Part::Whole),
            [name, "status"] => (Some((*name).to_owned()), Part::Status),
            _ => return None,
        };
        Some(Self {
            resource,
            namespace,
            name,
            part,
        })
    }
}

/// The resource that an object says it is of.
#[must_use]
pub fn of_object(object: &serde_json::Value) -> Option<&'static Resource> {
    let field = |name| object.get(name).and_then(serde_json::Value::as_str);
    let (kind, version) = (field("kind")?, field("apiVersion")?);
    RESOURCES
        .iter()
        .find(|r| r.kind == kind && r.api_version() == version)
}

/// The resource of a kind; kinds served twice are found in their first group.
#[must_use]
pub fn of_kind(kind: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|r| r.kind == kind)
}

fn find(group: &str, plural: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .find(|r| r.group == group && r.plural == plural)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_what_the_api_server_would_understand() {
        let target = Target::parse("/api/v1/nodes/n1").expect("node");
        assert_eq!(
            (target.resource.kind, target.name.as_deref()),
            ("Node", Some("n1"))
        );
        let target = Target::parse("/api/v1/namespaces/kube-system/secrets/s").expect("secret");
        assert_eq!(target.namespace.as_deref(), Some("kube-system"));
        let target = Target::parse("/apis/storage.k8s.io/v1/volumeattachments/a/status");
        assert_eq!(target.expect("status").part, Part::Status);
        assert!(
            Target::parse("/api/v1/secrets")
                .expect("all")
                .namespace
                .is_none()
        );
    }

    #[test]
    fn what_is_not_served_is_not_found() {
        for path in [
            "/api/v1/services",
            "/apis/storage.k8s.io/v1beta1/csinodes",
            "/api/v1/secrets/s",
            "/api/v1/namespaces/a/nodes/n",
            "/api/v1",
            "/",
        ] {
            assert_eq!(Target::parse(path), None, "{path}");
        }
    }
}
