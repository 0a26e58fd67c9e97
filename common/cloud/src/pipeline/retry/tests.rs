//! Tests of `retry`.

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};

use super::{Attempt, Outcome, Repeatable, RetryPolicy, Verdict, retry_after};

fn decide(method: &Method, outcome: Outcome, tried: u32, left: u64) -> Option<u128> {
    let attempt = Attempt {
        tried,
        repeatable: Repeatable::by_method(method),
        left: Duration::from_secs(left),
        jitter: 0.5,
    };
    match RetryPolicy::default().decide(attempt, outcome) {
        Verdict::Done => None,
        Verdict::Again(pause) => Some(pause.as_millis()),
    }
}

fn status(code: u16, pause: Option<u64>) -> Outcome {
    Outcome::Answer {
        status: StatusCode::from_u16(code).unwrap(),
        retry_after: pause.map(Duration::from_secs),
    }
}

#[test]
fn what_is_sent_again_depends_on_method_and_outcome() {
    for (method, outcome, pause) in [
        (Method::GET, Outcome::Lost, Some(500)),
        (Method::PUT, Outcome::Lost, Some(500)),
        (Method::DELETE, Outcome::Lost, Some(500)),
        (Method::POST, Outcome::Lost, None),
        (Method::POST, Outcome::NotSent, Some(500)),
        (Method::GET, status(500, None), Some(500)),
        (Method::GET, status(408, None), Some(500)),
        (Method::PATCH, status(504, None), Some(500)),
        (Method::POST, status(500, None), None),
        (Method::GET, status(500, Some(2)), Some(2000)),
        (Method::GET, status(429, None), None),
        (Method::GET, status(429, Some(2)), Some(2000)),
        (Method::POST, status(429, Some(2)), Some(2000)),
        (Method::GET, status(429, Some(15)), Some(15_000)),
        (Method::GET, status(429, Some(16)), None),
        (Method::GET, status(503, Some(1)), Some(1000)),
        (Method::GET, status(503, None), Some(500)),
        (Method::GET, status(503, Some(60)), None),
        (Method::GET, status(409, None), None),
        (Method::PUT, status(412, None), None),
        (Method::GET, status(200, None), None),
    ] {
        assert_eq!(
            decide(&method, outcome, 1, 60),
            pause,
            "{method} {outcome:?}"
        );
    }
}

#[test]
fn pauses_double_end_after_four_sendings_and_fit_the_deadline() {
    let pauses: Vec<_> = (1..6)
        .map(|tried| decide(&Method::GET, Outcome::Lost, tried, 60))
        .collect();
    assert_eq!(pauses, [Some(500), Some(1000), Some(2000), None, None]);
    assert_eq!(decide(&Method::GET, Outcome::Lost, 3, 2), None);
    // Of 8 seconds, no more than a quarter is spent on one pause that Azure asks for.
    assert_eq!(decide(&Method::GET, status(429, Some(3)), 1, 8), None);
}

#[test]
fn a_pause_is_read_in_every_form_au_04() {
    let read = |pairs: &[(&'static str, &str)]| {
        let headers: HeaderMap = pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        retry_after(&headers).map(|pause| pause.as_millis())
    };
    assert_eq!(read(&[("retry-after", "17")]), Some(17_000));
    assert_eq!(
        read(&[("retry-after-ms", "250"), ("retry-after", "1")]),
        Some(250)
    );
    assert_eq!(read(&[("x-ms-retry-after-ms", "40")]), Some(40));
    let until = ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(
        read(&[until, ("date", "Sun, 06 Nov 1994 08:49:07 GMT")]),
        Some(30_000)
    );
    assert_eq!(
        read(&[until, ("date", "Sun, 06 Nov 1994 09:00:00 GMT")]),
        Some(0)
    );
    for odd in ["", "soon", "-1", "1.5", "99999999999999999999999"] {
        assert_eq!(read(&[("retry-after", odd)]), None, "{odd}");
    }
}
