//! Bearer tokens: fetched once for everybody who waits, renewed in time, dropped when refused.

pub(crate) mod adapter;
pub mod certificate;
pub mod credentials;
pub mod error;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::secret::Secret;
use futures_util::future::BoxFuture;

use crate::arm::error::{ArmError, ErrorKind};
pub use error::TokenError;

/// A token and for how long it is good from now on.
#[derive(Clone, Debug)]
pub struct Token {
    /// The token.
    pub secret: Secret,
    /// From the moment it was fetched.
    pub lifetime: Duration,
}

/// Gets a new token each time. Does not cache and does not retry.
pub trait TokenSource: fmt::Debug + Send + Sync {
    /// Fetches a token for a scope.
    fn fetch<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<Token, TokenError>>;
}

/// The tokens of one identity for one scope.
#[derive(Clone)]
pub struct Tokens(Arc<Shared>);

struct Shared {
    source: Arc<dyn TokenSource>,
    scope: String,
    clock: Arc<dyn Clock>,
    flight: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    failed: Option<(Duration, TokenError)>,
}

#[derive(Clone)]
struct Held {
    secret: Secret,
    expires: Duration,
    refresh_at: Duration,
}

/// A token is renewed when it has less than this left.
const MARGIN: Duration = Duration::from_secs(300);
/// Pause before the next attempt to renew a token that is still good.
const REFRESH_PAUSE: Duration = Duration::from_secs(30);
/// Attempts to fetch one token. The metadata service asks for at least five.
const TRIES: u32 = 6;
const BASE: Duration = Duration::from_millis(800);
const CAP: Duration = Duration::from_secs(25);

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({:?})", self.0.source)
    }
}

impl Tokens {
    /// Nothing is fetched yet.
    #[must_use]
    pub fn new(source: Arc<dyn TokenSource>, scope: String, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared {
            source,
            scope,
            clock,
            flight: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(&self) -> Option<Secret> {
        let now = self.0.clock.now();
        let state = self.state();
        let held = state.held.as_ref()?;
        (now < held.refresh_at && now < held.expires).then(|| held.secret.clone())
    }

    /// A token that Azure should accept.
    ///
    /// # Errors
    /// If none can be had before the deadline.
    pub async fn bearer(&self, deadline: Deadline) -> Result<Secret, ArmError> {
        if let Some(secret) = self.fresh() {
            return Ok(secret);
        }
        let started = self.0.clock.now();
        let left = deadline.remaining(&*self.0.clock);
        let fetch = async {
            let _flight = self.0.flight.lock().await;
            if let Some(secret) = self.fresh() {
                return Ok(secret);
            }
            // Whoever waited for an attempt that failed meanwhile gets the same answer.
            let failed = self.state().failed.clone();
            if let Some((at, error)) = failed.filter(|(at, _)| *at > started) {
                tracing::debug!(?at, "joined a failed token request");
                return Err(error);
            }
            self.renew(deadline).await
        };
        match tokio::time::timeout(left, fetch).await {
            Ok(Ok(secret)) => Ok(secret),
            Ok(Err(error)) => Err(as_arm(error)),
            Err(_) => Err(ArmError::deadline("getting a token")),
        }
    }

    async fn renew(&self, deadline: Deadline) -> Result<Secret, TokenError> {
        let error = match self.attempts(deadline).await {
            Ok(token) => return Ok(self.keep(token)),
            Err(error) => error,
        };
        let now = self.0.clock.now();
        let mut state = self.state();
        if let Some(held) = state.held.as_mut().filter(|held| now < held.expires) {
            tracing::warn!(%error, "token not renewed; the present one is still good");
            held.refresh_at = now + REFRESH_PAUSE;
            return Ok(held.secret.clone());
        }
        state.failed = Some((now, error.clone()));
        Err(error)
    }

    async fn attempts(&self, deadline: Deadline) -> Result<Token, TokenError> {
        let mut tried = 0;
        loop {
            let result = self.0.source.fetch(&self.0.scope).await;
            tried += 1;
            let error = match result {
                Ok(token) => return Ok(token),
                Err(error) => error,
            };
            // A token that is still good is worth more than a second attempt.
            let now = self.0.clock.now();
            let held = self.state().held.as_ref().is_some_and(|h| now < h.expires);
            if !error.is_passing() || tried >= TRIES || held {
                return Err(error);
            }
            let doubled = BASE.saturating_mul(1 << tried.min(10)).min(CAP);
            let pause = error.retry_after().unwrap_or_default().max(doubled / 2);
            if pause >= deadline.remaining(&*self.0.clock) {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn keep(&self, token: Token) -> Secret {
        let now = self.0.clock.now();
        let mut state = self.state();
        state.failed = None;
        let early = token.lifetime.saturating_sub(MARGIN);
        // The metadata service caches: a new token may be the old one. Do not ask again at once.
        let refresh_at = now + early.max(REFRESH_PAUSE);
        state.held = Some(Held {
            secret: token.secret.clone(),
            expires: now + token.lifetime,
            refresh_at,
        });
        token.secret
    }

    /// Azure did not accept this token. If it is the one that is held, it is dropped.
    pub fn refuse(&self, token: &Secret) {
        let mut state = self.state();
        if state
            .held
            .as_ref()
            .is_some_and(|held| held.secret == *token)
        {
            state.held = None;
        }
    }
}

fn as_arm(error: TokenError) -> ArmError {
    let kind = if error.is_passing() {
        ErrorKind::TokenService
    } else {
        ErrorKind::Credentials
    };
    ArmError::of(kind, "no token for Azure".to_owned()).because(error)
}

#[cfg(test)]
mod tests;
