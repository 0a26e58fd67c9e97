//! Flags of the driver that this one replaces which have no meaning here. Charts pass them, so they
//! are accepted, and each is reported once.

use azcsi_rpc::goflags::{Form, Retired};

const WINDOWS: &str = "this driver serves Linux nodes only.";
const PROVIDER: &str = "machines are found by the providerID of their nodes.";
const NO_WINDOW: &str = "an attach or detach begins at once; those that wait are sent together.";
const UNTIL_DONE: &str = "work goes on until Azure has finished it, and a retry joins it.";
const ALWAYS: &str = "this is always done.";

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
pub const RETIRED: [Retired; 18] = [
    switch("use-csiproxy-ga-interface", WINDOWS),
    switch("enable-windows-host-process", WINDOWS),
    switch("use-win-cim-api", WINDOWS),
    value("vol-stats-cache-expire-in-minutes", WINDOWS),
    switch("disable-avset-nodes", PROVIDER),
    value("vmss-cache-ttl-seconds", PROVIDER),
    switch("list-vmss-with-instance-view", PROVIDER),
    value("attach-detach-initial-delay-ms", NO_WINDOW),
    switch("check-disk-count-for-batching", NO_WINDOW),
    value("get-disk-timeout-seconds", UNTIL_DONE),
    value("detach-operation-min-timeout-seconds", UNTIL_DONE),
    value("vmss-detach-timeout-seconds", UNTIL_DONE),
    switch(
        "force-detach-backoff",
        "a forced detach is never an answer to an error.",
    ),
    switch("enable-minimum-retry-after", ALWAYS),
    switch("wait-for-detach", ALWAYS),
    switch("wait-for-detach-disk-complete", ALWAYS),
    switch(
        "enable-otel-tracing",
        "traces are not exported; the log carries the correlation ids of Azure.",
    ),
    value("feature-gates", "there are none."),
];
