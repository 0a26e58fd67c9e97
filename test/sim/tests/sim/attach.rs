//! Data disks of machines: rules, and who wins.

use std::time::Duration;

use azcsi_sim::Profile;
use serde_json::{Value, json};

use crate::support::{Lab, R, attach, detach, disk, luns, premium, vm, whole};

fn action(name: &str) -> String {
    format!("{}/attachDetachDataDisks", vm(name))
}

async fn lab(names: &[&str]) -> Lab {
    let lab = Lab::new();
    for name in names {
        lab.disk(name, premium(8)).await;
    }
    lab
}

async fn shown(lab: &Lab, name: &str) -> Vec<(u64, String)> {
    luns(&lab.get(&vm(name)).await.body["properties"]["storageProfile"])
}

fn pairs(wanted: &[(u64, &str)]) -> Vec<(u64, String)> {
    wanted
        .iter()
        .map(|(lun, name)| (*lun, (*name).to_owned()))
        .collect()
}

#[tokio::test]
async fn the_action_gives_the_luns_and_picks_a_free_one() {
    let lab = lab(&["a", "b"]).await;
    let done = lab.done("POST", &action("vm1"), attach("a", 0)).await;
    assert_eq!(luns(&done["properties"]["output"]), pairs(&[(0, "a")]));
    let body = json!({"dataDisksToAttach": [{"diskId": disk("b")}]});
    let got = lab.send("POST", &action("vm1"), body).await;
    assert_eq!(got.status, 202);
    let output = lab.get(got.header("location")).await;
    assert_eq!(
        (output.status, luns(&output.body)),
        (200, pairs(&[(0, "a"), (1, "b")]))
    );
    assert_eq!(lab.get(&disk("a")).await.body["managedBy"], vm("vm1"));
    lab.done("POST", &action("vm1"), detach("a")).await;
    assert_eq!(shown(&lab, "vm1").await, pairs(&[(1, "b")]));
    let free = lab.get(&disk("a")).await.body;
    assert_eq!(free.get("managedBy"), None);
    assert_eq!(free["properties"]["diskState"], "Unattached");
}

#[tokio::test]
async fn a_list_is_complete_so_what_it_leaves_out_is_detached() {
    let lab = lab(&["a", "b"]).await;
    lab.done("PATCH", &vm("vm1"), whole(&[("a", 0), ("b", 1)]))
        .await;
    assert_eq!(shown(&lab, "vm1").await, pairs(&[(0, "a"), (1, "b")]));
    lab.done("PUT", &vm("vm1"), whole(&[("b", 1)])).await;
    assert_eq!(shown(&lab, "vm1").await, pairs(&[(1, "b")]));
    lab.done("PATCH", &vm("vm1"), json!({"tags": {"x": "y"}}))
        .await;
    assert_eq!(
        shown(&lab, "vm1").await,
        pairs(&[(1, "b")]),
        "no list, no change"
    );
    let mut body = whole(&[("b", 1)]);
    body["properties"]["storageProfile"]["dataDisks"][0]["toBeDetached"] = json!(true);
    lab.done("PATCH", &vm("vm1"), body).await;
    assert_eq!(shown(&lab, "vm1").await, []);
}

#[tokio::test]
async fn lists_that_break_a_rule_are_refused_and_change_nothing() {
    let lab = lab(&["a", "b"]).await;
    lab.done("PATCH", &vm("vm1"), whole(&[("a", 0)])).await;
    for (body, status, code, text) in [
        (
            whole(&[("a", 0), ("b", 0)]),
            400,
            "InvalidParameter",
            "A disk at LUN 0 already exists.",
        ),
        (
            whole(&[("a", 0), ("b", 64)]),
            400,
            "InvalidParameter",
            "dataDisk.lun",
        ),
        (
            whole(&[("a", 3)]),
            409,
            "PropertyChangeNotAllowed",
            "dataDisk.lun",
        ),
        (whole(&[("a", 0), ("none", 1)]), 404, "NotFound", "none"),
    ] {
        let got = lab.send("PATCH", &vm("vm1"), body.clone()).await;
        assert_eq!((got.status, got.code()), (status, code), "{body}");
        assert!(got.message().contains(text), "{}", got.message());
        assert_eq!(shown(&lab, "vm1").await, pairs(&[(0, "a")]));
    }
}

#[tokio::test]
async fn a_slot_does_not_change_its_disk() {
    let lab = lab(&["a", "b"]).await;
    lab.done("PATCH", &vm("vm1"), whole(&[("a", 0)])).await;
    let got = lab.send("PATCH", &vm("vm1"), whole(&[("b", 0)])).await;
    assert_eq!((got.status, got.code()), (409, "PropertyChangeNotAllowed"));
    assert!(got.message().contains("dataDisk.managedDisk.id"));
    assert_eq!(shown(&lab, "vm1").await, pairs(&[(0, "a")]));
}

#[tokio::test]
async fn a_size_has_room_for_so_many_disks() {
    let names: Vec<String> = (0..9).map(|n| format!("d{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let lab = lab(&names).await;
    let entries: Vec<(&str, u32)> = names.iter().copied().zip(0..).collect();
    let got = lab.send("PATCH", &vm("vm1"), whole(&entries)).await;
    assert_eq!((got.status, got.code()), (409, "OperationNotAllowed"));
    assert_eq!(got.body["error"]["target"], "dataDisks");
    assert!(got.message().ends_with("a VM of this size is 8."));
}

#[tokio::test]
async fn placement_and_caching_are_checked() {
    let lab = Lab::new();
    let make = async |name: &str, change: &dyn Fn(&mut Value)| {
        let mut body = premium(8);
        change(&mut body);
        lab.disk(name, body).await;
    };
    make("zone2", &|body| body["zones"] = json!(["2"])).await;
    make("regional", &|body| body["zones"] = json!([])).await;
    make("zone1", &|_| {}).await;
    make("west", &|body| body["location"] = json!("westus2")).await;
    make("big", &|body| {
        body["properties"]["diskSizeGB"] = json!(4096)
    })
    .await;
    make("zrs", &|body| {
        body["zones"] = json!([]);
        body["sku"]["name"] = json!("Premium_ZRS");
    })
    .await;
    for (machine, name, code) in [
        ("vm1", "zone2", "BadRequest"),
        ("vm1", "regional", "BadRequest"),
        ("av1", "zone1", "BadRequest"),
        ("vm1", "west", "BadRequest"),
        ("vm1", "zone1", ""),
        ("av1", "regional", ""),
        ("vm1", "zrs", ""),
    ] {
        let got = lab.send("POST", &action(machine), attach(name, 0)).await;
        assert_eq!(got.code(), code, "{machine} {name} {}", got.body);
        lab.done("POST", &action(machine), detach(name)).await;
    }
    let mut body = attach("big", 0);
    body["dataDisksToAttach"][0]["caching"] = json!("ReadOnly");
    let got = lab.send("POST", &action("vm1"), body).await;
    assert_eq!(got.body["error"]["target"], "dataDisk.caching");
}

#[tokio::test]
async fn a_disk_has_one_machine_and_the_refusal_names_it() {
    let lab = lab(&["a"]).await;
    lab.done("POST", &action("vm1"), attach("a", 0)).await;
    let got = lab.send("POST", &action("vm2"), attach("a", 0)).await;
    assert_eq!((got.status, got.code()), (409, "ConflictingUserInput"));
    assert!(
        got.message()
            .contains(&format!("already owned by VM '{}'", vm("vm1")))
    );
    let again = lab.done("POST", &action("vm1"), attach("a", 5)).await;
    assert_eq!(
        luns(&again["properties"]["output"]),
        pairs(&[(0, "a")]),
        "it stays where it is"
    );
}

#[tokio::test]
async fn of_two_attaches_under_way_the_second_fails_in_its_operation() {
    let lab = Lab::with(Profile::Azure);
    lab.disk("a", premium(8)).await;
    let first = lab.send("POST", &action("vm1"), attach("a", 0)).await;
    let second = lab.send("POST", &action("vm2"), attach("a", 0)).await;
    assert_eq!((first.status, second.status), (202, 202));
    lab.clock.advance(Duration::from_secs(600));
    let mut ends = Vec::new();
    for got in [first, second] {
        let end = lab.get(got.header("azure-asyncoperation")).await;
        assert_eq!(end.status, 200);
        ends.push(end.body["status"].as_str().expect("status").to_owned());
    }
    ends.sort();
    assert_eq!(ends, ["Failed", "Succeeded"]);
    assert!(lab.sim.violations().is_empty());
}

#[tokio::test]
async fn a_disk_on_its_way_off_is_not_taken_by_another_machine() {
    let lab = Lab::with(Profile::Azure);
    lab.disk("a", premium(8)).await;
    lab.done("POST", &action("vm1"), attach("a", 0)).await;
    lab.send("POST", &action("vm1"), detach("a")).await;
    let going = lab.get(&vm("vm1")).await.body;
    assert_eq!(
        going["properties"]["storageProfile"]["dataDisks"][0]["toBeDetached"],
        true
    );
    let got = lab.send("POST", &action("vm2"), attach("a", 0)).await;
    assert_eq!(
        (got.status, got.code()),
        (409, "AttachDiskWhileBeingDetached")
    );
}

#[tokio::test]
async fn a_newer_list_preempts_the_older_one_and_its_disks_are_lost() {
    let lab = Lab::with(Profile::Azure);
    for name in ["a", "b"] {
        lab.disk(name, premium(8)).await;
    }
    let older = lab.send("PATCH", &vm("vm1"), whole(&[("a", 0)])).await;
    lab.done("PATCH", &vm("vm1"), whole(&[("b", 1)])).await;
    let end = lab.get(older.header("azure-asyncoperation")).await;
    assert_eq!((end.status, &end.body["status"]), (200, &json!("Canceled")));
    assert_eq!(end.body["error"]["code"], "OperationPreempted");
    assert_eq!(shown(&lab, "vm1").await, pairs(&[(1, "b")]));
    assert_eq!(lab.get(&disk("a")).await.body.get("managedBy"), None);
}

#[tokio::test]
async fn two_deltas_under_way_both_hold() {
    let lab = Lab::with(Profile::Azure);
    for name in ["a", "b"] {
        lab.disk(name, premium(8)).await;
    }
    lab.send("POST", &action("vm1"), attach("a", 0)).await;
    let done = lab.done("POST", &action("vm1"), attach("b", 1)).await;
    assert_eq!(
        luns(&done["properties"]["output"]),
        pairs(&[(0, "a"), (1, "b")])
    );
}

#[tokio::test]
async fn a_disk_that_vanishes_while_it_is_attached_poisons_the_model() {
    let lab = Lab::with(Profile::Azure);
    lab.disk("a", premium(8)).await;
    let got = lab.send("POST", &action("vm1"), attach("a", 0)).await;
    lab.sim.change(|world| world.disks.clear());
    lab.clock.advance(Duration::from_secs(600));
    let end = lab.get(got.header("azure-asyncoperation")).await.body;
    assert_eq!(
        (&end["status"], &end["error"]["code"]),
        (&json!("Failed"), &json!("NotFound"))
    );
    let machine = lab.get(&vm("vm1")).await.body;
    assert_eq!(machine["properties"]["provisioningState"], "Failed");
    assert_eq!(
        shown(&lab, "vm1").await,
        pairs(&[(0, "a")]),
        "the entry stays"
    );
    let again = lab.send("PATCH", &vm("vm1"), whole(&[("a", 0)])).await;
    assert_eq!(again.status, 404, "and every update that has it fails");
    lab.done("PATCH", &vm("vm1"), whole(&[])).await;
    assert_eq!(shown(&lab, "vm1").await, []);
}

#[tokio::test]
async fn a_stale_etag_is_refused() {
    let lab = lab(&["a"]).await;
    let etag = lab.get(&vm("vm1")).await.header("etag").to_owned();
    let write = async |etag: &str| {
        let mut request = Lab::request("PATCH", &vm("vm1"), &whole(&[("a", 0)]));
        request
            .headers_mut()
            .insert("if-match", etag.parse().expect("value"));
        lab.raw(request).await.expect("an answer")
    };
    assert_eq!(write(&etag).await.status, 200);
    let got = write(&etag).await;
    assert_eq!((got.status, got.code()), (412, "PreconditionFailed"));
    assert!(
        got.message()
            .contains("does not match etag \"2\" of resource.")
    );
}

#[tokio::test]
async fn an_instance_of_a_scale_set_takes_disks_too() {
    let lab = lab(&["a"]).await;
    let path = format!("{R}/virtualMachineScaleSets/uni/virtualMachines/0");
    lab.done("PUT", &path, whole(&[("a", 2)])).await;
    let shown = lab.get(&path).await.body;
    assert_eq!(
        luns(&shown["properties"]["storageProfile"]),
        pairs(&[(2, "a")])
    );
    assert_eq!(lab.get(&disk("a")).await.body["managedBy"], path);
    assert_eq!(lab.send("PATCH", &path, json!({})).await.status, 405);
    let done = lab
        .done(
            "POST",
            &format!("{path}/attachDetachDataDisks"),
            detach("a"),
        )
        .await;
    assert_eq!(luns(&done["properties"]["output"]), []);
}
