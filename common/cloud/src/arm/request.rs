//! One request to Azure Resource Manager, before it has a token.

use azcsi_types::secret::Secret;
use bytes::Bytes;
use http::Method;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Serialize;

use super::error::{ArmError, ErrorKind};
use crate::environment::{ApiFamily, Environment};
use crate::pipeline::retry::Repeatable;
use crate::pipeline::throttle::{Buckets, Verb};
use crate::spelling::usual;

/// What is encoded in a path segment. Parentheses stay: resource group names have them.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');
const QUERY: &AsciiSet = &SEGMENT.add(b'&').add(b'+').add(b'=').add(b'\'').add(b'/');

/// A request that can be sent any number of times.
#[derive(Clone, Debug)]
pub(crate) struct ArmRequest {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) path: String,
    pub(crate) family: ApiFamily,
    pub(crate) body: Option<Bytes>,
    pub(crate) if_match: Option<String>,
    /// Headers of one resource type, such as `x-ms-snapshot`.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) repeatable: Repeatable,
}

impl ArmRequest {
    /// A request for a path of this cloud, with the family's API version.
    pub(crate) fn new(
        environment: &Environment,
        method: Method,
        family: ApiFamily,
        path: &str,
        query: &[(&str, &str)],
    ) -> Self {
        let path = usual(path);
        let mut url = environment.arm.clone();
        for segment in path.split('/').filter(|segment| !segment.is_empty()) {
            url.push('/');
            url.extend(utf8_percent_encode(segment, SEGMENT));
        }
        url.push_str("?api-version=");
        url.push_str(environment.api_versions.of(family));
        for (name, value) in query {
            url.push('&');
            url.push_str(name);
            url.push('=');
            url.extend(utf8_percent_encode(value, QUERY));
        }
        Self {
            repeatable: Repeatable::by_method(&method),
            method,
            url,
            path: path.into_owned(),
            family,
            body: None,
            if_match: None,
            headers: Vec::new(),
        }
    }

    /// A GET of a URL that Azure gave, sent exactly as it is.
    pub(crate) fn verbatim(
        environment: &Environment,
        url: &str,
        like: &Self,
    ) -> Result<Self, ArmError> {
        check_host(&environment.arm, url)?;
        Ok(Self {
            method: Method::GET,
            url: url.to_owned(),
            path: like.path.clone(),
            family: like.family,
            body: None,
            if_match: None,
            headers: Vec::new(),
            repeatable: Repeatable::Yes,
        })
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) const fn repeatable(mut self, repeatable: Repeatable) -> Self {
        self.repeatable = repeatable;
        self
    }

    pub(crate) fn with_body(mut self, body: &impl Serialize) -> Result<Self, ArmError> {
        let body = serde_json::to_vec(body)
            .map_err(|e| ArmError::protocol("the request cannot be written as JSON").because(e))?;
        self.body = Some(body.into());
        Ok(self)
    }

    pub(crate) fn buckets(&self) -> Buckets {
        let path = self.path.to_ascii_lowercase();
        let subscription = path.split('/').nth(2).unwrap_or_default().to_owned();
        Buckets {
            resource: path,
            subscription,
            family: self.family,
            verb: Verb::of(&self.method),
        }
    }

    /// Whether it writes a machine or an instance of a scale set.
    pub(crate) fn is_of_machines(&self) -> bool {
        let path = self.path.to_ascii_lowercase();
        self.method != Method::GET && path.contains("/microsoft.compute/virtualmachine")
    }

    /// Short form for messages: `PUT disks/pvc-1`.
    pub(crate) fn name(&self) -> String {
        const PROVIDERS: &str = "/providers/";
        let lower = self.path.to_ascii_lowercase();
        let type_at = |at: usize| {
            let from = at + PROVIDERS.len();
            Some(from + lower.get(from..)?.find('/')? + 1)
        };
        let at = lower.rfind(PROVIDERS).and_then(type_at);
        let tail = at.map_or(self.path.as_str(), |at| &self.path[at..]);
        format!("{} {tail}", self.method)
    }
}

/// Tokens of other tenants (Azure Resource Manager, "authenticate requests across tenants").
pub(crate) const AUXILIARY: &str = "x-ms-authorization-auxiliary";

pub(crate) fn bearer(token: &Secret) -> Result<http::HeaderValue, ArmError> {
    let mut value = http::HeaderValue::try_from(format!("Bearer {}", token.expose()))
        .map_err(|_| ArmError::of(ErrorKind::Credentials, "the token is no text".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// A URL that Azure gave may carry our token only to the host that we called.
fn check_host(arm: &str, url: &str) -> Result<(), ArmError> {
    let place = |text: &str| {
        let uri: http::Uri = text.parse().ok()?;
        let scheme = uri.scheme_str()?.to_ascii_lowercase();
        let host = uri.host()?.to_ascii_lowercase();
        let default = if scheme == "https" { 443 } else { 80 };
        Some((scheme, host, uri.port_u16().unwrap_or(default)))
    };
    let with_user = url.split('/').nth(2).is_some_and(|part| part.contains('@'));
    match (place(arm), place(url)) {
        (Some(ours), Some(theirs)) if ours == theirs && !with_user => Ok(()),
        (_, theirs) => {
            let host = theirs.map_or_else(|| "nowhere".to_owned(), |(_, host, _)| host);
            Err(ArmError::protocol(format!(
                "Azure's answer leads to {host}, not to {arm}; the token is not sent there"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ArmRequest, check_host};
    use crate::environment::{ApiFamily, Environment};
    use http::Method;
    use proptest::prelude::*;

    fn request(path: &str) -> ArmRequest {
        let environment = Environment::named("").unwrap();
        ArmRequest::new(&environment, Method::GET, ApiFamily::Disks, path, &[])
    }

    #[test]
    fn the_url_holds_each_segment_and_the_version() {
        let query = [("$filter", "location eq 'eastus2'")];
        let environment = Environment::named("").unwrap();
        let request = ArmRequest::new(
            &environment,
            Method::GET,
            ApiFamily::Skus,
            "/subscriptions/s/x",
            &query,
        );
        assert_eq!(
            request.url,
            "https://management.azure.com/subscriptions/s/x?api-version=2021-07-01&$filter=location%20eq%20%27eastus2%27"
        );
    }

    #[test]
    fn only_our_own_host_gets_the_token() {
        let arm = "https://management.azure.com";
        check_host(arm, "https://MANAGEMENT.azure.com:443/x?p=1").unwrap();
        for url in [
            "https://evil.example/x",
            "http://management.azure.com/x",
            "https://management.azure.com:8443/x",
            "https://management.azure.com.evil.example/x",
            "https://management.azure.com@evil.example/x",
            "https://a@management.azure.com/x",
            "/subscriptions/s",
            "",
        ] {
            assert!(check_host(arm, url).is_err(), "{url}");
        }
    }

    #[test]
    fn the_name_is_short() {
        let path = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d";
        assert_eq!(request(path).name(), "GET disks/d");
    }

    proptest! {
        #[test]
        fn every_path_gives_a_url_with_as_many_segments(names in proptest::collection::vec("[^/\\p{C}]{1,20}", 1..6)) {
            let path = format!("/{}", names.join("/"));
            let uri: http::Uri = request(&path).url.parse().unwrap();
            let decoded: Vec<String> = uri.path().split('/').skip(1)
                .map(|s| percent_encoding::percent_decode_str(s).decode_utf8().unwrap().into_owned())
                .collect();
            prop_assert_eq!(decoded, names);
        }
    }
}
