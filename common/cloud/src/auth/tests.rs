//! Tests of `auth`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azcsi_types::clock::Deadline;
use azcsi_types::fault::{Fault, Faulty, report};
use azcsi_types::secret::Secret;
use futures_util::future::BoxFuture;

use super::{Token, TokenError, TokenSource, Tokens};
use crate::testing::TestClock;

/// Answers from a list, each after a second.
#[derive(Debug)]
struct Source(Mutex<VecDeque<Result<&'static str, TokenError>>>);

impl TokenSource for Source {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Token, TokenError>> {
        let next = self
            .0
            .lock()
            .unwrap()
            .pop_front()
            .expect("one request too many");
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            next.map(|text| Token {
                secret: Secret::new(text),
                lifetime: Duration::from_secs(3600),
            })
        })
    }
}

fn tokens(answers: Vec<Result<&'static str, TokenError>>) -> (Tokens, Arc<TestClock>, Arc<Source>) {
    let clock = TestClock::start();
    let source = Arc::new(Source(Mutex::new(answers.into())));
    let tokens = Tokens::new(source.clone(), "scope".to_owned(), clock.clone());
    (tokens, clock, source)
}

async fn bearer(tokens: &Tokens, clock: &TestClock) -> Result<String, Fault> {
    let deadline = Deadline::after(clock, Duration::from_secs(60));
    let secret = tokens.bearer(deadline).await;
    secret.map(|s| s.expose().to_owned()).map_err(|e| e.fault())
}

fn busy() -> Result<&'static str, TokenError> {
    Err(TokenError::passing("busy", None))
}

#[tokio::test(start_paused = true)]
async fn many_callers_share_one_request() {
    let (tokens, clock, _) = tokens(vec![Ok("one")]);
    let all = (0..20).map(|_| bearer(&tokens, &clock));
    for result in futures_util::future::join_all(all).await {
        assert_eq!(result.unwrap(), "one");
    }
}

#[tokio::test(start_paused = true)]
async fn many_callers_share_one_failure() {
    let (tokens, clock, source) =
        tokens(vec![Err(TokenError::lasting("wrong secret")), Ok("later")]);
    let all = (0..20).map(|_| bearer(&tokens, &clock));
    for result in futures_util::future::join_all(all).await {
        assert_eq!(result, Err(Fault::Unauthenticated));
    }
    assert_eq!(source.0.lock().unwrap().len(), 1);
    assert_eq!(bearer(&tokens, &clock).await.unwrap(), "later");
}

#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_before_it_ends_and_kept_if_that_fails() {
    let (tokens, clock, source) = tokens(vec![Ok("one"), busy(), Ok("two")]);
    assert_eq!(bearer(&tokens, &clock).await.unwrap(), "one");
    tokio::time::advance(Duration::from_secs(3200)).await;
    assert_eq!(bearer(&tokens, &clock).await.unwrap(), "one");
    tokio::time::advance(Duration::from_secs(150)).await;
    assert_eq!(bearer(&tokens, &clock).await.unwrap(), "one");
    assert_eq!(source.0.lock().unwrap().len(), 1);
    assert_eq!(bearer(&tokens, &clock).await.unwrap(), "one");
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(bearer(&tokens, &clock).await.unwrap(), "two");
}

#[tokio::test(start_paused = true)]
async fn a_passing_failure_is_tried_again_and_a_lasting_one_is_not() {
    let (first, clock, _) = tokens(vec![busy(), busy(), Ok("one")]);
    assert_eq!(bearer(&first, &clock).await.unwrap(), "one");
    let (second, clock, source) = tokens(vec![Err(TokenError::lasting("no")), Ok("never")]);
    assert_eq!(bearer(&second, &clock).await, Err(Fault::Unauthenticated));
    assert_eq!(source.0.lock().unwrap().len(), 1);
    let (third, clock, _) = tokens((0..6).map(|_| busy()).collect());
    assert_eq!(bearer(&third, &clock).await, Err(Fault::Unavailable));
}

#[tokio::test(start_paused = true)]
async fn only_the_refused_token_is_dropped() {
    let (tokens, clock, _) = tokens(vec![Ok("one"), Ok("two")]);
    bearer(&tokens, &clock).await.unwrap();
    tokens.refuse(&Secret::new("older"));
    assert_eq!(bearer(&tokens, &clock).await.unwrap(), "one");
    tokens.refuse(&Secret::new("one"));
    assert_eq!(bearer(&tokens, &clock).await.unwrap(), "two");
}

#[test]
fn the_authoritys_own_words_and_a_remedy_reach_the_user() {
    let body = br#"{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided.\r\nTrace ID: t-1\r\nCorrelation ID: c-1\r\nTimestamp: now","error_codes":[7000215]}"#;
    let status = http::StatusCode::UNAUTHORIZED;
    let error = TokenError::from_answer("the token authority", status, body, None);
    let text = report(&error);
    for part in [
        "AADSTS7000215",
        "aadClientSecret",
        "Trace ID: t-1",
        "Correlation ID: c-1",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!error.is_passing());
}
