//! `world`: a world file for so many nodes.

use toml::Spanned;

use super::WorldArgs;
use crate::entra::issuer;
use crate::worldfile::{AppEntry, FederatedEntry, Pool, WorldFile};

/// Ids that cannot be mistaken for real ones.
const TENANT: &str = "72f00000-0000-4000-8000-000000000001";
const SUBSCRIPTION: &str = "5b500000-0000-4000-8000-000000000001";
const CLIENT: &str = "a9900000-0000-4000-8000-000000000001";
/// Guards nothing: the simulator listens on loopback and holds nothing of value.
const CLIENT_SECRET: &str = "azcsi-sim~not-a-real-secret";

/// The world that was asked for.
#[must_use]
pub fn world(args: &WorldArgs) -> WorldFile {
    let account = |name: &str| FederatedEntry {
        issuer: None,
        subject: format!("system:serviceaccount:kube-system:{name}"),
        audience: Some(issuer::AUDIENCE.to_owned()),
        jwks: None,
    };
    WorldFile {
        tenant: plain(TENANT.to_owned()),
        subscription: plain(SUBSCRIPTION.to_owned()),
        resource_group: plain("mc_azcsi".to_owned()),
        location: plain(args.location.clone()),
        apps: vec![AppEntry {
            client_id: plain(CLIENT.to_owned()),
            secret: Some(CLIENT_SECRET.to_owned()),
            certificates: Vec::new(),
            federated: vec![
                account("csi-azuredisk-controller-sa"),
                account("csi-azuredisk-node-sa"),
            ],
        }],
        pools: vec![Pool {
            name: plain("aks-pool-00000001-vmss".to_owned()),
            kind: args.kind,
            size: plain(args.size.clone()),
            nodes: plain(args.nodes),
            zones: plain(args.zones.clone()),
        }],
        folder: std::path::PathBuf::new(),
    }
}

fn plain<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::worldfile::PoolKind;

    #[test]
    fn a_generated_world_is_one_that_can_be_served() {
        for kind in [
            PoolKind::Uniform,
            PoolKind::Flex,
            PoolKind::Standalone,
            PoolKind::Avset,
        ] {
            let zones = if kind == PoolKind::Avset {
                vec![]
            } else {
                vec!["1".to_owned()]
            };
            let args = WorldArgs {
                nodes: 4,
                zones,
                size: "Standard_D8s_v5".to_owned(),
                kind,
                location: "westeurope".to_owned(),
            };
            let text = world(&args).render().expect("render");
            let read = WorldFile::parse(Path::new("w.toml"), &text).expect("parse");
            let pool = read.pools.first().expect("pool");
            assert_eq!((pool.kind, *pool.nodes.get_ref()), (kind, 4));
        }
    }
}
