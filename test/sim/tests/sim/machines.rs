//! Machines: read, listed, switched, deleted.

use serde_json::{Value, json};

use crate::support::{Lab, R, SUB, attach, disk, premium, vm};

#[tokio::test]
async fn lists_have_single_machines_and_the_filter_finds_a_scale_sets_own() {
    let lab = Lab::new();
    let names = async |path: &str| -> Vec<String> {
        let page = lab.get(path).await.body;
        let items = page["value"].as_array().expect("list").clone();
        items
            .iter()
            .map(|item| item["name"].as_str().expect("name").to_owned())
            .collect()
    };
    let all = ["av1", "flex_1", "vm1", "vm2"];
    let compute = format!("{SUB}/providers/Microsoft.Compute");
    assert_eq!(names(&format!("{R}/virtualMachines")).await, all);
    assert_eq!(
        names(&format!("{compute}/locations/eastus2/virtualMachines")).await,
        all
    );
    assert!(
        names(&format!("{compute}/locations/westus2/virtualMachines"))
            .await
            .is_empty()
    );
    let filter =
        format!("?$filter='virtualMachineScaleSet/id'%20eq%20'{R}/virtualMachineScaleSets/FLEX'");
    assert_eq!(
        names(&format!("{R}/virtualMachines{filter}")).await,
        ["flex_1"]
    );
    let set = format!("{R}/virtualMachineScaleSets");
    assert_eq!(names(&set).await, ["flex", "uni"]);
    assert_eq!(
        names(&format!("{set}/uni/virtualMachines")).await,
        ["uni_0"]
    );
    let got = lab.get(&format!("{set}/uni/virtualMachines/seven")).await;
    assert_eq!(
        (got.status, &got.body["error"]["target"]),
        (400, &json!("instanceId"))
    );
}

#[tokio::test]
async fn power_decides_what_an_attached_disk_shows() {
    let lab = Lab::new();
    lab.disk("a", premium(8)).await;
    lab.done(
        "POST",
        &format!("{}/attachDetachDataDisks", vm("vm1")),
        attach("a", 0),
    )
    .await;
    for (verb, power, state) in [
        ("powerOff", "PowerState/stopped", "Attached"),
        ("deallocate", "PowerState/deallocated", "Reserved"),
        ("start", "PowerState/running", "Attached"),
    ] {
        lab.done("POST", &format!("{}/{verb}", vm("vm1")), Value::Null)
            .await;
        let view = lab
            .get(&format!("{}?$expand=instanceView", vm("vm1")))
            .await
            .body;
        assert_eq!(
            view["properties"]["instanceView"]["statuses"][1]["code"],
            power
        );
        assert_eq!(
            lab.get(&disk("a")).await.body["properties"]["diskState"],
            state
        );
    }
}

#[tokio::test]
async fn a_deleted_machine_frees_its_disks() {
    let lab = Lab::new();
    lab.disk("a", premium(8)).await;
    lab.done(
        "POST",
        &format!("{}/attachDetachDataDisks", vm("vm1")),
        attach("a", 0),
    )
    .await;
    let got = lab.send("DELETE", &vm("vm1"), Value::Null).await;
    assert_eq!(got.status, 202);
    assert_eq!(lab.get(&vm("vm1")).await.status, 404);
    assert_eq!(
        lab.get(&disk("a")).await.body["properties"]["diskState"],
        "Unattached"
    );
    assert_eq!(
        lab.send("DELETE", &vm("vm1"), Value::Null).await.status,
        204
    );
}

#[tokio::test]
async fn a_machine_on_its_way_out_takes_no_disks() {
    let lab = Lab::with(azcsi_sim::Profile::Azure);
    lab.disk("a", premium(8)).await;
    lab.send("DELETE", &vm("vm1"), Value::Null).await;
    let got = lab
        .send(
            "POST",
            &format!("{}/attachDetachDataDisks", vm("vm1")),
            attach("a", 0),
        )
        .await;
    assert_eq!((got.status, got.code()), (409, "OperationNotAllowed"));
    assert!(got.message().contains("marked for deletion"));
}

#[tokio::test]
async fn put_makes_a_machine() {
    let lab = Lab::new();
    let body = json!({"location": "eastus2", "zones": ["1"],
        "properties": {"hardwareProfile": {"vmSize": "Standard_D2s_v5"}}});
    let got = lab.send("PUT", &vm("vm9"), body).await;
    assert_eq!(
        (got.status, &got.body["properties"]["provisioningState"]),
        (201, &json!("Creating"))
    );
    let made = lab.get(&vm("vm9")).await.body;
    assert_eq!(made["properties"]["provisioningState"], "Succeeded");
}
