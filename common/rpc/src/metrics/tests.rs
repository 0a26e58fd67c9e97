//! Tests of `metrics`.

use std::time::Duration;

use tonic::Code;

use super::Metrics;
use crate::handler::Measure;
use crate::method::Method;

#[test]
fn operations_have_the_names_and_buckets_of_the_replaced_drivers() {
    let metrics = Metrics::new("azuredisk_csi_driver");
    let sku = Some("Premium_LRS".to_owned());
    let measure = Measure {
        operation: "controller_create_volume",
        sku,
    };
    metrics.operation(&measure, true, Duration::from_millis(1500));
    let text = metrics.render();
    let labels = "operation=\"controller_create_volume\",success=\"true\"";
    for line in [
        format!("azuredisk_csi_driver_operations_total{{{labels}}} 1"),
        format!("azuredisk_csi_driver_operation_duration_seconds_sum{{{labels}}} 1.5"),
        format!("azuredisk_csi_driver_operation_duration_seconds_bucket{{le=\"1.0\",{labels}}} 0"),
        format!("azuredisk_csi_driver_operation_duration_seconds_bucket{{le=\"5.0\",{labels}}} 1"),
        format!(
            "azuredisk_csi_driver_operation_duration_seconds_bucket{{le=\"300.0\",{labels}}} 1"
        ),
        format!(
            "azuredisk_csi_driver_operation_duration_seconds_labeled_count{{{labels},\
             storage_account_type=\"Premium_LRS\"}} 1"
        ),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn calls_are_counted_by_method_and_code_ob_04() {
    let metrics = Metrics::new("x");
    metrics.call_started(Some(Method::Probe));
    metrics.call_started(None);
    metrics.call_ended(Some(Method::Probe), Some(Code::Ok), Duration::ZERO);
    let text = metrics.render();
    let labels = "grpc_type=\"unary\",grpc_service=\"csi.v1.Identity\",grpc_method=\"Probe\"";
    for line in [
        format!("grpc_server_started_total{{{labels}}} 1"),
        format!("grpc_server_handled_total{{{labels},grpc_code=\"OK\"}} 1"),
        "grpc_server_in_flight 1".to_owned(),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}
