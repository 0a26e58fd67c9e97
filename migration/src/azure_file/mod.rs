//! `kubernetes.io/azure-file` and `file.csi.azure.com`.

pub(crate) mod back;
pub(crate) mod forward;

/// The annotation that holds the resource group of the storage account.
pub(crate) const RESOURCE_GROUP: &str = "kubernetes.io/azure-file-resource-group";
/// The namespace of last resort.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";
