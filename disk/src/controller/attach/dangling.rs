//! A disk that is wanted on one machine and attached to another: when it may be taken away there.

use azcsi_types::node::{NodeName, VmRef};

use crate::controller::ports::Claim;

/// What is known about the machine that holds the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The machine; `None` if the disk does not tell, or names something that is no machine.
    pub vm: Option<VmRef>,
    /// The node on it.
    pub node: Option<NodeName>,
    /// Whether Kubernetes wants the disk there.
    pub claim: Claim,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dangling {
    /// Nobody wants the disk there: detach it, then attach it here.
    Release(VmRef),
    /// It is in use there, or nobody can say that it is not; where, for people.
    Held(String),
}

/// Decides. Only the proven absence of a claim allows a detach.
#[must_use]
pub fn decide(holder: Holder) -> Dangling {
    let place = match (&holder.node, &holder.vm) {
        (Some(node), _) => format!("node {node}"),
        (None, Some(vm)) => format!("machine {vm}"),
        (None, None) => "another machine".to_owned(),
    };
    match (holder.vm, holder.claim) {
        (Some(vm), Claim::None) => Dangling::Release(vm),
        _ => Dangling::Held(place),
    }
}

#[cfg(test)]
mod tests {
    use super::{Dangling, Holder, decide};
    use crate::controller::ports::Claim;
    use azcsi_types::node::VmRef;

    #[test]
    fn only_a_proven_absence_of_claims_releases_a_disk() {
        let vm = VmRef::machine("s", "g", "v").unwrap();
        for claim in [Claim::Live, Claim::None, Claim::Unknown] {
            for (vm, node) in [
                (None, None),
                (Some(vm.clone()), None),
                (Some(vm.clone()), Some("n".parse().unwrap())),
            ] {
                let got = decide(Holder {
                    vm: vm.clone(),
                    node: node.clone(),
                    claim,
                });
                match (vm, claim) {
                    (Some(vm), Claim::None) => assert_eq!(got, Dangling::Release(vm)),
                    _ => {
                        let Dangling::Held(place) = got else {
                            panic!("{claim:?} releases")
                        };
                        assert_eq!(place.starts_with("node n"), node.is_some());
                    }
                }
            }
        }
    }
}
