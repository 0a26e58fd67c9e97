//! Tests of `client`.

use std::time::Duration;

use super::{Pace, Roots, escaped, roots};

#[test]
fn a_pace_lets_a_burst_through_and_then_keeps_the_rate() {
    let pace = Pace::new(10.0, 3);
    let now = Duration::from_secs(100);
    let waits: Vec<u128> = (0..5).map(|_| pace.claim(now).as_millis()).collect();
    assert_eq!(waits, [0, 0, 0, 100, 200]);
    let later = now + Duration::from_secs(10);
    let waits: Vec<u128> = (0..4).map(|_| pace.claim(later).as_millis()).collect();
    assert_eq!(waits, [0, 0, 0, 100]);
}

#[test]
fn without_a_rate_nothing_waits() {
    let pace = Pace::new(0.0, 0);
    assert!((0..1000).all(|_| pace.claim(Duration::ZERO).is_zero()));
}

#[test]
fn names_cannot_leave_their_segment() {
    assert_eq!(escaped("aks-1.x_~"), "aks-1.x_~");
    assert_eq!(escaped("a/../b?c#d%"), "a%2F..%2Fb%3Fc%23d%25");
}

#[test]
fn certificates_of_the_system_are_needed_only_for_tls_to_a_server_without_its_own() {
    let config = |url: &str| kube::Config::new(url.parse().unwrap());
    assert_eq!(roots(&config("http://127.0.0.1:8080")), Roots::Unused);
    assert_eq!(roots(&config("https://127.0.0.1:6443")), Roots::System);
    let mut named = config("https://127.0.0.1:6443");
    named.root_cert = Some(vec![vec![1]]);
    assert_eq!(roots(&named), Roots::Named);
    let mut through = config("http://127.0.0.1:8080");
    through.proxy_url = Some("https://proxy:3128".parse().unwrap());
    assert_eq!(roots(&through), Roots::System);
}
