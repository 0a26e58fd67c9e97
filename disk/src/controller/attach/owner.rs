//! From the machines that hold a disk to nodes.

use azcsi_types::node::{NodeName, VmRef};
use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;

use crate::controller::ports::{NodeDirectory, PortError};

/// The machines among the holders of a disk. Other holders (a gallery image, for example) are none.
#[must_use]
pub fn machines<'a>(holders: impl IntoIterator<Item = &'a ResourceId>) -> Vec<VmRef> {
    holders
        .into_iter()
        .filter_map(|id| VmRef::try_from(id.clone()).ok())
        .collect()
}

/// The nodes on these machines. Machines without a node are left out.
///
/// # Errors
/// If a lookup failed.
pub async fn nodes(
    directory: &dyn NodeDirectory,
    op: &Op,
    machines: &[VmRef],
) -> Result<Vec<NodeName>, PortError> {
    let mut names = Vec::with_capacity(machines.len());
    for vm in machines {
        names.extend(directory.node(op, vm).await?);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::machines;
    use azcsi_types::disk_uri::DiskUri;
    use azcsi_types::node::VmRef;

    #[test]
    fn holders_that_are_no_machines_are_left_out() {
        let vm = VmRef::instance("s", "g", "set", "3").unwrap();
        let disk = DiskUri::new("s", "g", "d").unwrap();
        assert_eq!(machines([vm.id(), disk.id()]), vec![vm.clone()]);
    }
}
