//! Every method of CSI 1.13: its name, the faults it may answer with, how loudly it is logged.

use azcsi_types::fault::Fault;

/// A service of CSI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// Who the plugin is.
    Identity,
    /// Volumes and snapshots seen from the cluster.
    Controller,
    /// Snapshots of several volumes at one moment.
    GroupController,
    /// Which blocks of a snapshot hold data.
    SnapshotMetadata,
    /// Volumes seen from one node.
    Node,
}

/// What every method may answer with (CSI, "Error Scheme").
const EVERYWHERE: [Fault; 8] = [
    Fault::Invalid,
    Fault::Denied,
    Fault::Unauthenticated,
    Fault::InProgress,
    Fault::Unimplemented,
    Fault::Unavailable,
    Fault::Deadline,
    Fault::Internal,
];

/// Builds [`Method`] from a table: service, method, the faults beyond [`EVERYWHERE`].
macro_rules! methods {
    ($($service:ident { $($method:ident [$($fault:ident)*])* })*) => {
        /// A method of CSI. The names are those of the interface; `proto/csi.proto` says what
        /// each does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Method {
            $($(
                #[doc = concat!("`", stringify!($service), ".", stringify!($method), "`")]
                $method,
            )*)*
        }

        impl Method {
            /// Every method, for tables and for tests that must not miss one.
            pub const ALL: &[Self] = &[$($(Self::$method,)*)*];

            /// The service that it belongs to.
            #[must_use]
            pub const fn service(self) -> Service {
                match self { $($(Self::$method => Service::$service,)*)* }
            }

            /// Its name without the service.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$method => stringify!($method),)*)* }
            }

            /// The path of its HTTP/2 request.
            #[must_use]
            pub const fn path(self) -> &'static str {
                match self {
                    $($(Self::$method => {
                        concat!("/csi.v1.", stringify!($service), "/", stringify!($method))
                    })*)*
                }
            }

            /// The name of its request message, without the package.
            #[must_use]
            pub const fn request(self) -> &'static str {
                match self { $($(Self::$method => concat!(stringify!($method), "Request"),)*)* }
            }

            /// The name of its response message, without the package.
            #[must_use]
            pub const fn response(self) -> &'static str {
                match self { $($(Self::$method => concat!(stringify!($method), "Response"),)*)* }
            }

            const fn own_faults(self) -> &'static [Fault] {
                match self { $($(Self::$method => &[$(Fault::$fault),*],)*)* }
            }
        }
    };
}

methods! {
    Identity {
        GetPluginInfo []
        GetPluginCapabilities []
        Probe [Precondition]
    }
    Controller {
        CreateVolume [NotFound Exists Exhausted OutOfRange]
        DeleteVolume [Precondition]
        ControllerPublishVolume [NotFound Exists Precondition Exhausted]
        ControllerUnpublishVolume [NotFound]
        ValidateVolumeCapabilities [NotFound]
        ListVolumes []
        ControllerListVolumeHealth []
        ControllerGetVolumeHealth [NotFound]
        GetCapacity []
        ControllerGetCapabilities []
        CreateSnapshot [Exists Exhausted]
        DeleteSnapshot [Precondition]
        ListSnapshots []
        GetSnapshot [NotFound]
        ControllerExpandVolume [NotFound Precondition OutOfRange]
        ControllerGetVolume [NotFound]
        ControllerModifyVolume [NotFound]
    }
    GroupController {
        GroupControllerGetCapabilities []
        CreateVolumeGroupSnapshot [Exists Precondition Exhausted]
        DeleteVolumeGroupSnapshot [Precondition]
        GetVolumeGroupSnapshot [NotFound]
    }
    SnapshotMetadata {
        GetMetadataAllocated [NotFound OutOfRange]
        GetMetadataDelta [NotFound OutOfRange Precondition]
    }
    Node {
        NodeStageVolume [NotFound Exists Precondition]
        NodeUnstageVolume [NotFound]
        NodePublishVolume [NotFound Exists Precondition]
        NodeUnpublishVolume [NotFound]
        NodeGetVolumeStats [NotFound]
        NodeGetVolumeHealth [NotFound]
        NodeGetStorageHealth []
        NodeExpandVolume [NotFound Precondition OutOfRange]
        NodeGetCapabilities []
        NodeGetInfo []
    }
}

/// How often a method is called in the normal course of things, which decides its log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loudness {
    /// Something happens: logged from verbosity 2.
    Event,
    /// Somebody polls: logged from verbosity 6.
    Poll,
}

impl Method {
    /// The method behind the path of an HTTP/2 request.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|method| method.path() == path)
    }

    /// Whether CSI knows this kind of failure for this method.
    #[must_use]
    pub fn allows(self, fault: Fault) -> bool {
        EVERYWHERE.contains(&fault) || self.own_faults().contains(&fault)
    }

    /// How loudly calls of it are logged.
    #[must_use]
    pub const fn loudness(self) -> Loudness {
        match self {
            Self::Probe
            | Self::GetPluginInfo
            | Self::GetPluginCapabilities
            | Self::ControllerGetCapabilities
            | Self::GroupControllerGetCapabilities
            | Self::NodeGetCapabilities
            | Self::NodeGetVolumeStats
            | Self::NodeGetVolumeHealth
            | Self::NodeGetStorageHealth
            | Self::ListVolumes => Loudness::Poll,
            _ => Loudness::Event,
        }
    }

    /// The label `operation` of the driver's metrics; `None` for methods that are not counted there.
    #[must_use]
    pub const fn operation(self) -> Option<&'static str> {
        Some(match self {
            Self::CreateVolume => "controller_create_volume",
            Self::DeleteVolume => "controller_delete_volume",
            Self::ControllerPublishVolume => "controller_publish_volume",
            Self::ControllerUnpublishVolume => "controller_unpublish_volume",
            Self::ControllerExpandVolume => "controller_expand_volume",
            Self::ControllerModifyVolume => "controller_modify_volume",
            Self::CreateSnapshot => "controller_create_snapshot",
            Self::DeleteSnapshot => "controller_delete_snapshot",
            Self::NodeStageVolume => "node_stage_volume",
            Self::NodeUnstageVolume => "node_unstage_volume",
            Self::NodePublishVolume => "node_publish_volume",
            Self::NodeUnpublishVolume => "node_unpublish_volume",
            Self::NodeExpandVolume => "node_expand_volume",
            _ => return None,
        })
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Method;

    const FACTS: &str = include_str!("../../../proto/csi-1.13-descriptor.tsv");

    #[test]
    fn the_methods_are_those_of_csi() {
        let published: BTreeSet<[String; 3]> = FACTS
            .lines()
            .filter_map(|line| line.strip_prefix("method\t"))
            .map(|line| {
                let columns: Vec<&str> = line.split('\t').collect();
                let path = format!("/csi.v1.{}/{}", columns[0], columns[1]);
                [path, columns[2].to_owned(), columns[3].to_owned()]
            })
            .collect();
        let ours = Method::ALL
            .iter()
            .map(|method| [method.path(), method.request(), method.response()].map(str::to_owned));
        assert_eq!(ours.collect::<BTreeSet<_>>(), published);
    }

    #[test]
    fn a_method_is_found_by_its_path() {
        for &method in Method::ALL {
            assert_eq!(Method::from_path(method.path()), Some(method));
        }
        assert_eq!(Method::from_path("/csi.v1.Node/Other"), None);
    }
}
