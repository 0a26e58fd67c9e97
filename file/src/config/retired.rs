//! Flags of the driver that this one replaces which have no meaning here. Charts pass them, so they
//! are accepted, and each is reported once.

use azcsi_rpc::goflags::{Form, Retired};

const WINDOWS: &str = "this driver serves Linux nodes only.";
const TUNNEL: &str = "NFS through TLS needs nothing that is installed on the node.";
const SERVER_SIDE: &str = "copies are made by Azure itself; a retry takes them up again.";

const fn value(name: &'static str, why: &'static str) -> Retired {
    Retired {
        name,
        form: Form::Value,
        why,
    }
}

const fn switch(name: &'static str, why: &'static str) -> Retired {
    Retired {
        name,
        form: Form::Bool,
        why,
    }
}

/// The flags.
pub const RETIRED: [Retired; 12] = [
    switch("enable-windows-host-process", WINDOWS),
    switch("use-win-cim-api", WINDOWS),
    switch("remove-smb-mount-on-windows", WINDOWS),
    switch("enable-azurefile-proxy", TUNNEL),
    value("azurefile-proxy-endpoint", TUNNEL),
    switch("use-aznfs-for-nfs-mounts", TUNNEL),
    value("sas-token-expiration-minutes", SERVER_SIDE),
    value("wait-for-azcopy-timeout-minutes", SERVER_SIDE),
    value(
        "vol-stats-cache-expire-in-minutes",
        "figures are asked for when they are wanted, and never hang.",
    ),
    switch("print-volume-stats-call-logs", "the log says it at --v=4."),
    switch(
        "append-mount-error-help-link",
        "the cause and the remedy are in the message.",
    ),
    switch(
        "enable-kata-cc-mount",
        "it is decided by the volume's attributes.",
    ),
];
