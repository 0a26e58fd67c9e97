//! Scale sets and groups that are made, scaled and deleted; encryption sets; usages.

use serde_json::{Value, json};

use crate::support::{Lab, R, SUB, premium};

fn set(name: &str) -> String {
    format!("{R}/virtualMachineScaleSets/{name}")
}

fn sized(capacity: u64, mode: &str) -> Value {
    json!({
        "location": "eastus2", "zones": ["1", "2"],
        "sku": {"name": "Standard_D4s_v5", "capacity": capacity},
        "properties": {
            "orchestrationMode": mode,
            "virtualMachineProfile": {"osProfile": {"computerNamePrefix": "pool"}},
        },
    })
}

async fn hosts(lab: &Lab, path: &str) -> Vec<String> {
    let page = lab.get(path).await.body;
    let items = page["value"].as_array().expect("list").clone();
    let host = |item: &Value| {
        item["properties"]["osProfile"]["computerName"]
            .as_str()
            .map(str::to_owned)
    };
    items.iter().filter_map(host).collect()
}

#[tokio::test]
async fn a_uniform_set_is_made_scaled_both_ways_and_deleted() {
    let lab = Lab::new();
    let made = lab.send("PUT", &set("pool"), sized(2, "Uniform")).await;
    assert_eq!(
        (made.status, &made.body["sku"]["capacity"]),
        (201, &json!(2))
    );
    let list = format!("{}/virtualMachines", set("pool"));
    assert_eq!(hosts(&lab, &list).await, ["pool000000", "pool000001"]);
    lab.done("PATCH", &set("pool"), json!({"sku": {"capacity": 3}}))
        .await;
    let one = json!({"instanceIds": ["1"]});
    lab.done("POST", &format!("{}/delete", set("pool")), one)
        .await;
    assert_eq!(hosts(&lab, &list).await, ["pool000000", "pool000002"]);
    lab.done("PATCH", &set("pool"), json!({"sku": {"capacity": 3}}))
        .await;
    assert_eq!(hosts(&lab, &list).await.last().expect("some"), "pool000003");
    lab.done("DELETE", &set("pool"), Value::Null).await;
    assert_eq!(lab.get(&set("pool")).await.status, 404);
    assert_eq!(lab.get(&list).await.code(), "ParentResourceNotFound");
}

#[tokio::test]
async fn an_instance_that_is_scaled_away_lets_go_of_its_disks() {
    let lab = Lab::new();
    lab.done("PUT", &set("pool"), sized(1, "Uniform")).await;
    let mut zonal = premium(8);
    zonal["zones"] = json!(["1"]);
    let id = lab.disk("d", zonal).await["id"].clone();
    let attach = json!({"dataDisksToAttach": [{"diskId": id, "lun": 0}]});
    let action = format!("{}/virtualMachines/0/attachDetachDataDisks", set("pool"));
    lab.done("POST", &action, attach).await;
    lab.done("PATCH", &set("pool"), json!({"sku": {"capacity": 0}}))
        .await;
    let disk = lab.get(&format!("{R}/disks/d")).await.body;
    assert_eq!(disk["properties"]["diskState"], "Unattached");
}

#[tokio::test]
async fn what_no_set_can_be_is_refused() {
    let lab = Lab::new();
    for (pointer, value) in [
        ("/sku/capacity", json!(5000)),
        ("/sku/capacity", json!("two")),
        ("/sku/name", json!("Nonsense")),
        ("/sku/name", Value::Null),
    ] {
        let mut body = sized(1, "Uniform");
        *body.pointer_mut(pointer).expect("there") = value.clone();
        let got = lab.send("PUT", &set("bad"), body).await;
        assert_eq!(got.status, 400, "{pointer} {value}");
    }
    let none = lab
        .send("PATCH", &set("none"), json!({"sku": {"capacity": 1}}))
        .await;
    assert_eq!(none.status, 404);
    assert_eq!(
        lab.send("DELETE", &set("none"), Value::Null).await.status,
        204
    );
}

#[tokio::test]
async fn flexible_instances_are_machines() {
    let lab = Lab::new();
    lab.done("PUT", &set("loose"), sized(2, "Flexible")).await;
    let filter = format!(
        "?$filter='virtualMachineScaleSet/id'%20eq%20'{}'",
        set("loose")
    );
    let page = lab.get(&format!("{R}/virtualMachines{filter}")).await.body;
    assert_eq!(page["value"].as_array().expect("list").len(), 2);
}

#[tokio::test]
async fn an_encryption_set_is_changed_and_knows_its_disks() {
    let lab = Lab::new();
    let des = format!("{R}/diskEncryptionSets/des");
    let body =
        json!({"location": "eastus2", "properties": {"activeKey": {"keyUrl": "https://v/1"}}});
    lab.done("PUT", &des, body).await;
    let patch =
        json!({"tags": {"a": "b"}, "properties": {"rotationToLatestKeyVersionEnabled": true}});
    let got = lab.send("PATCH", &des, patch).await.body;
    assert_eq!(got["tags"]["a"], "b");
    assert_eq!(got["properties"]["rotationToLatestKeyVersionEnabled"], true);
    assert_eq!(got["properties"]["activeKey"]["keyUrl"], "https://v/1");
    let mut disk = premium(8);
    disk["properties"]["encryption"] =
        json!({"type": "EncryptionAtRestWithCustomerKey", "diskEncryptionSetId": des});
    let id = lab.disk("d", disk).await["id"].clone();
    lab.disk("other", premium(8)).await;
    let uses = lab.get(&format!("{des}/associatedResources")).await.body;
    assert_eq!(uses["value"], json!([id]));
    let none = format!("{R}/diskEncryptionSets/none");
    assert_eq!(lab.send("PATCH", &none, json!({})).await.status, 404);
}

#[tokio::test]
async fn a_group_goes_with_everything_in_it() {
    let lab = Lab::new();
    let group = format!("{SUB}/resourceGroups/extra");
    lab.send("PUT", &group, json!({"location": "eastus2"}))
        .await;
    let disk = format!("{group}/providers/Microsoft.Compute/disks/d");
    lab.done("PUT", &disk, premium(8)).await;
    lab.done("DELETE", &group, Value::Null).await;
    assert_eq!(lab.get(&group).await.status, 404);
    assert_eq!(lab.get(&disk).await.status, 404);
    assert_eq!(lab.send("DELETE", &group, Value::Null).await.status, 404);
}

#[tokio::test]
async fn usages_count_what_is_there() {
    let lab = Lab::new();
    lab.disk("d", premium(8)).await;
    let path = format!("{SUB}/providers/Microsoft.Compute/locations/eastus2/usages");
    let usages = lab.get(&path).await.body;
    let row = |name: &str| {
        let rows = usages["value"].as_array().expect("list").iter();
        let mut found = rows.filter(|row| row["name"]["value"] == name);
        found.next().expect("row").clone()
    };
    assert_eq!(row("PremiumDiskCount")["currentValue"], 1);
    assert!(row("virtualMachines")["currentValue"].as_u64() > Some(0));
    let nowhere = path.replace("eastus2", "nowhere");
    assert_eq!(lab.get(&nowhere).await.status, 404);
}
