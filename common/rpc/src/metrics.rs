//! Metrics: what is counted, and under which name.
//!
//! The families of operations have the names and labels of the drivers that ours replace, so that
//! dashboards keep working. The families of gRPC have the names of the usual server interceptors.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tonic::Code;

use crate::handler::Measure;
use crate::method::Method;

/// Seconds; as in the drivers that ours replace.
const OPERATION_BUCKETS: [f64; 15] = [
    0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 100.0, 200.0, 300.0,
];

/// Seconds.
const CALL_BUCKETS: [f64; 11] = [
    0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 120.0, 600.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    operation: &'static str,
    success: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SkuLabels {
    operation: &'static str,
    success: &'static str,
    storage_account_type: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    grpc_type: &'static str,
    grpc_service: String,
    grpc_method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HandledLabels {
    grpc_type: &'static str,
    grpc_service: String,
    grpc_method: &'static str,
    grpc_code: String,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    operations: Family<OperationLabels, Counter>,
    durations: Histograms<OperationLabels>,
    durations_by_sku: Histograms<SkuLabels>,
    joined: Counter,
    started: Family<CallLabels, Counter>,
    handled: Family<HandledLabels, Counter>,
    handling: Histograms<CallLabels>,
    in_flight: Gauge,
}

impl Metrics {
    /// The metrics of a driver. `prefix` begins the names of its operations, for example
    /// `azuredisk_csi_driver`.
    #[must_use]
    pub fn new(prefix: &str) -> Arc<Self> {
        let operation: fn() -> Histogram = || Histogram::new(OPERATION_BUCKETS);
        let call: fn() -> Histogram = || Histogram::new(CALL_BUCKETS);
        let metrics = Self {
            registry: Mutex::default(),
            operations: Family::default(),
            durations: Family::new_with_constructor(operation),
            durations_by_sku: Family::new_with_constructor(operation),
            joined: Counter::default(),
            started: Family::default(),
            handled: Family::default(),
            handling: Family::new_with_constructor(call),
            in_flight: Gauge::default(),
        };
        metrics.with_registry(|registry| metrics.register(prefix, registry));
        Arc::new(metrics)
    }

    fn register(&self, prefix: &str, registry: &mut Registry) {
        let driver = registry.sub_registry_with_prefix(prefix);
        driver.register(
            "operations",
            "Operations that ended",
            self.operations.clone(),
        );
        driver.register(
            "operation_duration_seconds",
            "Time that operations took",
            self.durations.clone(),
        );
        driver.register(
            "operation_duration_seconds_labeled",
            "Time that operations took, by disk or account type",
            self.durations_by_sku.clone(),
        );
        driver.register(
            "operations_joined",
            "Calls that joined an operation which was already running",
            self.joined.clone(),
        );
        registry.register(
            "grpc_server_started",
            "Calls that began",
            self.started.clone(),
        );
        registry.register(
            "grpc_server_handled",
            "Calls that ended",
            self.handled.clone(),
        );
        registry.register(
            "grpc_server_handling_seconds",
            "Time to answer",
            self.handling.clone(),
        );
        registry.register(
            "grpc_server_in_flight",
            "Calls in progress",
            self.in_flight.clone(),
        );
    }

    /// Gives access to the registry, for families of other crates.
    pub fn with_registry(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts an operation that ended.
    pub fn operation(&self, measure: &Measure, succeeded: bool, elapsed: Duration) {
        let success = if succeeded { "true" } else { "false" };
        let labels = OperationLabels {
            operation: measure.operation,
            success,
        };
        self.operations.get_or_create(&labels).inc();
        self.durations
            .get_or_create(&labels)
            .observe(elapsed.as_secs_f64());
        if let Some(sku) = &measure.sku {
            let labels = SkuLabels {
                operation: measure.operation,
                success,
                storage_account_type: sku.clone(),
            };
            self.durations_by_sku
                .get_or_create(&labels)
                .observe(elapsed.as_secs_f64());
        }
    }

    /// Counts a call that joined a running operation.
    pub(crate) fn joined(&self) {
        self.joined.inc();
    }

    /// Counts a call that began.
    pub(crate) fn call_started(&self, method: Option<Method>) {
        self.started.get_or_create(&call_labels(method)).inc();
        self.in_flight.inc();
    }

    /// Counts a call that ended; `None` if the client gave it up.
    pub(crate) fn call_ended(&self, method: Option<Method>, code: Option<Code>, elapsed: Duration) {
        self.in_flight.dec();
        let labels = call_labels(method);
        self.handling
            .get_or_create(&labels)
            .observe(elapsed.as_secs_f64());
        let CallLabels {
            grpc_type,
            grpc_service,
            grpc_method,
        } = labels;
        let grpc_code = code.map_or_else(|| "Canceled".to_owned(), code_name);
        let labels = HandledLabels {
            grpc_type,
            grpc_service,
            grpc_method,
            grpc_code,
        };
        self.handled.get_or_create(&labels).inc();
    }

    /// Everything in the text format of OpenMetrics.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        self.with_registry(|registry| {
            let _ = encode(&mut text, registry);
        });
        text
    }
}

fn call_labels(method: Option<Method>) -> CallLabels {
    let (grpc_service, grpc_method) = match method {
        Some(method) => (format!("csi.v1.{:?}", method.service()), method.name()),
        None => ("unknown".to_owned(), "unknown"),
    };
    CallLabels {
        grpc_type: "unary",
        grpc_service,
        grpc_method,
    }
}

/// The name as the usual interceptors write it.
fn code_name(code: Code) -> String {
    match code {
        Code::Ok => "OK".to_owned(),
        Code::Cancelled => "Canceled".to_owned(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests;
