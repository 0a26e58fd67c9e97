//! Tests of `events`.

use std::time::Duration;

use serde_json::json;

use super::{About, Event, Events, Severity};
use crate::testing::{Server, answer};

fn event(note: &str) -> Event {
    Event {
        about: About::claim("app", "data", "u"),
        severity: Severity::Warning,
        reason: "DiskGone",
        note: note.to_owned(),
    }
}

fn server() -> Server {
    Server::new(|request| match request.method().as_str() {
        "POST" => answer(201, &json!({"metadata": {"name": "data.1"}})),
        _ => answer(200, &json!({"metadata": {"name": "data.1"}})),
    })
}

#[tokio::test(start_paused = true)]
async fn the_same_event_is_counted_and_another_is_written() {
    let server = server();
    let events = Events::new(server.kube(), "disk.csi.azure.com");
    for note in ["one", "one", "one", "two"] {
        events.publish(event(note)).await.unwrap();
    }
    let created = server.bodies("POST");
    assert_eq!(created.len(), 2);
    assert_eq!(created[0]["involvedObject"]["uid"], "u");
    assert_eq!(created[0]["metadata"]["namespace"], "app");
    assert!(
        created[0]["firstTimestamp"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    let counted: Vec<_> = server
        .bodies("PATCH")
        .iter()
        .map(|b| b["count"].clone())
        .collect();
    assert_eq!(counted, [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn after_a_while_it_is_written_again() {
    let server = server();
    let events = Events::new(server.kube(), "x");
    events.publish(event("one")).await.unwrap();
    tokio::time::advance(Duration::from_secs(601)).await;
    events.publish(event("one")).await.unwrap();
    assert_eq!(server.bodies("POST").len(), 2);
}
