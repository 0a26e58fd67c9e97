//! What a node counts besides its calls: devices, filesystems, repairs.

use std::time::Duration;

use azcsi_host::devices::Transport;
use azcsi_rpc::metrics::Metrics;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

/// Seconds.
const BUCKETS: [f64; 12] = [
    0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeviceLabels {
    transport: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    filesystem: &'static str,
    success: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusedLabels {
    reason: &'static str,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of a node.
#[derive(Clone, Debug)]
pub struct NodeMetrics {
    discovery: Histograms<DeviceLabels>,
    format: Histograms<ToolLabels>,
    check: Histograms<ToolLabels>,
    refused: Family<RefusedLabels, Counter>,
    repaired: Counter,
}

impl Default for NodeMetrics {
    fn default() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        Self {
            discovery: Family::new_with_constructor(histogram),
            format: Family::new_with_constructor(histogram),
            check: Family::new_with_constructor(histogram),
            refused: Family::default(),
            repaired: Counter::default(),
        }
    }
}

impl NodeMetrics {
    /// Shows them among the metrics of the process, under names that begin with `prefix`.
    #[must_use]
    pub fn shown(metrics: &Metrics, prefix: &str) -> Self {
        let own = Self::default();
        metrics.with_registry(|registry| {
            let node = registry.sub_registry_with_prefix(prefix);
            node.register(
                "device_discovery_duration_seconds",
                "Time until a device was found and proven to be the volume's",
                own.discovery.clone(),
            );
            node.register(
                "format_duration_seconds",
                "Time to make a filesystem, waiting for a place included",
                own.format.clone(),
            );
            node.register(
                "fsck_duration_seconds",
                "Time to check a filesystem before its mount",
                own.check.clone(),
            );
            node.register(
                "stages_refused",
                "Volumes that were not staged because of what the device is or holds",
                own.refused.clone(),
            );
            node.register(
                "stale_mounts_repaired",
                "Mounts of dead devices that were taken away",
                own.repaired.clone(),
            );
        });
        own
    }

    pub(super) fn found(&self, transport: Transport, took: Duration) {
        let transport = match transport {
            Transport::Scsi => "scsi",
            Transport::Nvme => "nvme",
            Transport::Other => "other",
        };
        let labels = DeviceLabels { transport };
        let histogram = self.discovery.get_or_create(&labels);
        histogram.observe(took.as_secs_f64());
    }

    pub(super) fn formatted<T, E>(
        &self,
        filesystem: &'static str,
        result: &Result<T, E>,
        took: Duration,
    ) {
        let histogram = self.format.get_or_create(&tool(filesystem, result));
        histogram.observe(took.as_secs_f64());
    }

    pub(super) fn checked<T, E>(
        &self,
        filesystem: &'static str,
        result: &Result<T, E>,
        took: Duration,
    ) {
        let histogram = self.check.get_or_create(&tool(filesystem, result));
        histogram.observe(took.as_secs_f64());
    }

    pub(super) fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&RefusedLabels { reason }).inc();
    }

    pub(super) fn repaired(&self) {
        self.repaired.inc();
    }
}

const fn tool<T, E>(filesystem: &'static str, result: &Result<T, E>) -> ToolLabels {
    ToolLabels {
        filesystem,
        success: if result.is_ok() { "true" } else { "false" },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use azcsi_host::devices::Transport;
    use azcsi_rpc::metrics::Metrics;

    use super::NodeMetrics;

    #[test]
    fn each_family_is_shown() {
        let metrics = Metrics::new("driver");
        let node = NodeMetrics::shown(&metrics, "driver");
        let second = Duration::from_secs(1);
        node.found(Transport::Nvme, second);
        node.formatted("xfs", &Ok::<_, ()>(()), second);
        node.checked("ext4", &Err::<(), _>(()), second);
        node.refused("WrongDisk");
        node.repaired();
        let text = metrics.render();
        for line in [
            "driver_device_discovery_duration_seconds_count{transport=\"nvme\"} 1",
            "driver_format_duration_seconds_sum{filesystem=\"xfs\",success=\"true\"} 1",
            "driver_fsck_duration_seconds_count{filesystem=\"ext4\",success=\"false\"} 1",
            "driver_stages_refused_total{reason=\"WrongDisk\"} 1",
            "driver_stale_mounts_repaired_total 1",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
