//! ARM's front door: who asks, which API version, and whether the place that is named exists. What
//! it refuses never reaches a resource provider, and its 404s say so in a header.

use http::{HeaderMap, Method, Request, StatusCode, Uri};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use bytes::Bytes;

use crate::call::Call;
use crate::entra::tokens::{TokenFault, TokenKey};
use crate::error::ArmError;
use crate::query::Query;
use crate::route::{self, Route};
use crate::serve::discovery::is_audience;
use crate::serve::site::Scheme;
use crate::state::State;
use crate::world::key;

/// Who may ask.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// Anyone who shows a bearer token, whatever it says.
    #[default]
    AnyBearer,
    /// Those with a token that was signed with this key and is still good.
    Key(TokenKey),
}

/// The caller of a request.
pub(crate) fn caller(
    auth: &Auth,
    headers: &HeaderMap,
    wall: std::time::SystemTime,
) -> Result<String, ArmError> {
    let refuse =
        |code: &str, message: &str| Err(ArmError::new(StatusCode::UNAUTHORIZED, code, message));
    let header = headers
        .get(http::header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let Some(token) = header.and_then(|header| header.strip_prefix("Bearer ")) else {
        return refuse(
            "AuthenticationFailed",
            "Authentication failed. The 'Authorization' header is missing.",
        );
    };
    let Auth::Key(token_key) = auth else {
        return Ok("anyone".to_owned());
    };
    match token_key.verify(token, wall) {
        Ok(claims) if is_audience(&claims.audience) => Ok(claims.client_id),
        Ok(_) => refuse(
            "InvalidAuthenticationToken",
            "The access token has been obtained for the wrong audience or resource.",
        ),
        Err(TokenFault::Expired) => refuse(
            "ExpiredAuthenticationToken",
            "The access token expiry UTC time is earlier than current UTC time.",
        ),
        Err(TokenFault::Malformed | TokenFault::BadSignature) => {
            refuse("InvalidAuthenticationToken", "The access token is invalid.")
        }
    }
}

pub(crate) fn no_group(name: &str) -> ArmError {
    let message = format!("Resource group '{name}' could not be found.");
    ArmError::new(StatusCode::NOT_FOUND, "ResourceGroupNotFound", message).gateway()
}

/// A path in its parts.
#[derive(Debug)]
pub(crate) struct Place {
    parts: Vec<String>,
    subscription: String,
    group: Option<String>,
    provider: String,
    /// Where, in `parts`, the types begin.
    types: usize,
}

impl Place {
    fn of(uri: &Uri) -> Option<Self> {
        let decode = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let parts: Vec<String> = uri
            .path()
            .split('/')
            .filter(|part| !part.is_empty())
            .map(decode)
            .collect();
        let is = |index: usize, word: &str| {
            parts
                .get(index)
                .is_some_and(|part| part.eq_ignore_ascii_case(word))
        };
        if !is(0, "subscriptions") {
            return None;
        }
        let subscription = parts.get(1)?.clone();
        let group = if is(2, "resourceGroups") {
            parts.get(3).cloned()
        } else {
            None
        };
        let mut types = if group.is_some() { 4 } else { 2 };
        let mut provider = String::new();
        if is(types, "providers") {
            provider.clone_from(parts.get(types + 1)?);
            types += 2;
        }
        Some(Self {
            subscription,
            group,
            provider,
            types,
            parts,
        })
    }

    /// As routes are written.
    fn pattern(&self) -> Vec<&str> {
        let scope = self.group.iter().map(|_| "rg");
        let types = self.parts.iter().skip(self.types).map(String::as_str);
        scope.chain(types).collect()
    }

    fn route(&self, method: &Method) -> Result<(&'static Route, Vec<String>), ArmError> {
        let pattern = self.pattern();
        let tables = route::tables();
        let table = tables
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(&self.provider));
        let Some((_, routes)) = table else {
            let message = format!("The resource namespace '{}' is invalid.", self.provider);
            return Err(ArmError::new(
                StatusCode::NOT_FOUND,
                "InvalidResourceNamespace",
                message,
            ));
        };
        let mut known = false;
        for route in *routes {
            if let Some(names) = route::matches(route.pattern, &pattern) {
                known = true;
                if route.method == *method {
                    return Ok((route, names));
                }
            }
        }
        if known {
            let message =
                format!("The requested resource does not support http method '{method}'.");
            return Err(ArmError::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "HttpMethodNotSupported",
                message,
            ));
        }
        let kind = pattern
            .get(usize::from(self.group.is_some()))
            .copied()
            .unwrap_or_default();
        let message = format!(
            "The resource type '{kind}' could not be found in the namespace '{}'.",
            self.provider
        );
        Err(ArmError::new(
            StatusCode::NOT_FOUND,
            "InvalidResourceType",
            message,
        ))
    }

    /// The id of the resource: without an action behind it.
    fn id(&self, route: &Route) -> String {
        let drop = usize::from(route::is_action(route.pattern));
        let parts = self
            .parts
            .iter()
            .take(self.parts.len().saturating_sub(drop));
        let parts = parts.map(String::as_str).collect::<Vec<_>>();
        format!("/{}", parts.join("/"))
    }
}

fn version(place: &Place, query: &Query) -> Result<(), ArmError> {
    let Some(version) = query
        .get("api-version")
        .filter(|version| !version.is_empty())
    else {
        return Err(ArmError::bad_request(
            "MissingApiVersionParameter",
            "The api-version query parameter (?api-version=) is required for all requests.",
        ));
    };
    let date = version.trim_end_matches("-preview");
    let digits = date.split('-').map(str::len).collect::<Vec<_>>() == [4, 2, 2]
        && date.chars().all(|c| c.is_ascii_digit() || c == '-');
    if !digits {
        let message = format!(
            "The api-version '{version}' is invalid. The supported versions are 'YYYY-MM-DD' dates with an optional '-preview'."
        );
        return Err(ArmError::bad_request("InvalidApiVersionParameter", message));
    }
    let known = crate::versions::known(&place.provider);
    if known.is_empty() || known.contains(&version) {
        return Ok(());
    }
    let kind = place.parts.get(place.types).map_or("", String::as_str);
    let supported = known.join(", ");
    let message = format!(
        "No registered resource provider found for location '' and API version '{version}' for type '{kind}'. The supported api-versions are '{supported}'."
    );
    Err(ArmError::bad_request("NoRegisteredProviderFound", message))
}

/// The resource group of a place is there; that of a group itself need not be.
fn in_group(state: &State, place: &Place, route: &Route) -> Result<(), ArmError> {
    let Some(group) = place.group.as_ref().filter(|_| route.pattern != "rg") else {
        return Ok(());
    };
    let id = format!(
        "/subscriptions/{}/resourceGroups/{group}",
        place.subscription
    );
    if state.world.groups.contains_key(&key(&id)) {
        Ok(())
    } else {
        Err(no_group(group))
    }
}

/// Lets a request in.
pub(crate) fn admit(
    state: &State,
    request: &Request<Bytes>,
) -> Result<(&'static Route, Call), ArmError> {
    let query = Query::of(request.uri());
    let Some(place) = Place::of(request.uri()) else {
        let message =
            "The request did not have a subscription or a valid tenant level resource provider.";
        return Err(ArmError::new(StatusCode::NOT_FOUND, "MissingSubscription", message).gateway());
    };
    version(&place, &query)?;
    if !state
        .world
        .subscriptions
        .contains_key(&place.subscription.to_ascii_lowercase())
    {
        let message = format!(
            "The subscription '{}' could not be found.",
            place.subscription
        );
        return Err(
            ArmError::new(StatusCode::NOT_FOUND, "SubscriptionNotFound", message).gateway(),
        );
    }
    let (route, names) = place.route(request.method())?;
    in_group(state, &place, route)?;
    let header = |name: &str| {
        let value = request.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let call = Call {
        id: place.id(route),
        subscription: place.subscription,
        group: place.group,
        names,
        query,
        body: body(request)?,
        if_match: header("if-match"),
        if_none_match: header("if-none-match"),
        snapshot: header("x-ms-snapshot"),
        base: base(request),
        path: request.uri().path().to_owned(),
    };
    Ok((route, call))
}

fn body(request: &Request<Bytes>) -> Result<Value, ArmError> {
    if request.body().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    match serde_json::from_slice(request.body()) {
        Ok(body @ Value::Object(_)) => Ok(body),
        Ok(_) => Err(ArmError::bad_request(
            "InvalidRequestContent",
            "The request content is no object.",
        )),
        Err(error) => {
            let message = format!(
                "The request content was invalid and could not be deserialized: '{error}'."
            );
            Err(ArmError::bad_request("InvalidRequestContent", message))
        }
    }
}

/// Scheme and host, as the client reached us: operation URLs begin with them.
fn base(request: &Request<Bytes>) -> String {
    let scheme = request
        .extensions()
        .get::<Scheme>()
        .map(|scheme| scheme.text());
    let scheme = scheme
        .or_else(|| request.uri().scheme_str())
        .unwrap_or("https");
    let host = request
        .headers()
        .get(http::header::HOST)
        .and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(http::uri::Authority::as_str));
    format!("{scheme}://{}", host.unwrap_or("management.azure.com"))
}
