//! Shared Key and Shared Key Lite: what a request has to be signed over.

use bytes::Bytes;
use http::{HeaderMap, Request};
use percent_encoding::percent_decode_str;

use crate::files::target::Target;
use crate::storage::sas::sign;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Full,
    Lite,
}

/// How `x-ms-` headers are ordered: by bytes, or with hyphens counting for little, as the service
/// does. They differ for few names; both are taken.
#[derive(Clone, Copy, Debug)]
enum Order {
    Bytes,
    Words,
}

/// The texts that a request may be signed over; the first is the one of the reference.
pub(crate) fn texts(scheme: Scheme, request: &Request<Bytes>, target: &Target) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for order in [Order::Bytes, Order::Words] {
        for resource in resources(scheme, request, target) {
            let text = text(scheme, request, order, &resource);
            if !found.contains(&text) {
                found.push(text);
            }
        }
    }
    found
}

fn text(scheme: Scheme, request: &Request<Bytes>, order: Order, resource: &str) -> String {
    let headers = request.headers();
    let value = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let date = if headers.contains_key("x-ms-date") {
        String::new()
    } else {
        value("date")
    };
    let mut lines = vec![request.method().as_str().to_owned()];
    match scheme {
        Scheme::Full => {
            let length = match value("content-length").as_str() {
                "" => request.body().len().to_string(),
                other => other.to_owned(),
            };
            let length = if length == "0" { String::new() } else { length };
            lines.extend(["content-encoding", "content-language"].map(value));
            lines.push(length);
            lines.extend(["content-md5", "content-type"].map(value));
            lines.push(date);
            let conditions = [
                "if-modified-since",
                "if-match",
                "if-none-match",
                "if-unmodified-since",
                "range",
            ];
            lines.extend(conditions.map(value));
        }
        Scheme::Lite => {
            lines.extend(["content-md5", "content-type"].map(value));
            lines.push(date);
        }
    }
    format!(
        "{}\n{}{resource}",
        lines.join("\n"),
        canonical_headers(headers, order)
    )
}

fn canonical_headers(headers: &HeaderMap, order: Order) -> String {
    let mut names: Vec<&str> = headers
        .keys()
        .map(http::HeaderName::as_str)
        .filter(|name| name.starts_with("x-ms-"))
        .collect();
    match order {
        Order::Bytes => names.sort_unstable(),
        Order::Words => names.sort_by_key(|name| (name.replace('-', ""), (*name).to_owned())),
    }
    let mut out = String::new();
    for name in names {
        let values: Vec<String> = headers
            .get_all(name)
            .iter()
            .map(|value| {
                let text = String::from_utf8_lossy(value.as_bytes());
                text.split("\r\n")
                    .map(str::trim)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        out.push_str(&format!("{name}:{}\n", values.join(",").trim()));
    }
    out
}

/// The canonical resource. With the account in the path it stands there twice; clients that do not
/// know that leave one out.
fn resources(scheme: Scheme, request: &Request<Bytes>, target: &Target) -> Vec<String> {
    let path = request.uri().path();
    let mut bases = vec![format!("/{}{path}", target.account)];
    if target.in_path {
        bases.push(path.to_owned());
    }
    let query = request.uri().query().unwrap_or_default();
    let end = match scheme {
        Scheme::Full => full_query(query),
        Scheme::Lite => {
            let comp = pairs(query).into_iter().find(|(name, _)| name == "comp");
            comp.map(|(_, value)| format!("?comp={value}"))
                .unwrap_or_default()
        }
    };
    bases
        .into_iter()
        .map(|base| format!("{base}{end}"))
        .collect()
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(name).to_ascii_lowercase(), decode(value))
        })
        .collect()
}

fn full_query(query: &str) -> String {
    let mut pairs = pairs(query);
    pairs.sort();
    let mut out = String::new();
    let mut last = String::new();
    for (name, value) in pairs {
        if name == last {
            out.push_str(&format!(",{value}"));
        } else {
            out.push_str(&format!("\n{name}:{value}"));
            last = name;
        }
    }
    out
}

/// Whether a signature is that of one of the texts with one of the keys.
pub(crate) fn matches(texts: &[String], keys: &[&str], signature: &str) -> bool {
    let mut both = texts
        .iter()
        .flat_map(|text| keys.iter().map(move |key| (text, key)));
    both.any(|(text, key)| sign(key, text).is_some_and(|made| made == signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

    fn request(query: &str, headers: &[(&str, &str)], body: usize) -> Request<Bytes> {
        let url = format!("https://examplefiles01.file.core.windows.net/pvc-0001?{query}");
        let mut request = Request::put(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request
            .header("x-ms-date", "Tue, 03 Mar 2026 09:30:00 GMT")
            .header("x-ms-version", "2024-11-04")
            .body(Bytes::from(vec![b'x'; body]))
            .expect("request")
    }

    fn signed(scheme: Scheme, request: &Request<Bytes>, signature: &str) -> bool {
        let target = Target::of(request).expect("files");
        matches(&texts(scheme, request, &target), &[KEY], signature)
    }

    #[test]
    fn known_signatures_are_found_and_a_changed_request_is_not() {
        let create = [("x-ms-meta-created-by", "csi"), ("x-ms-share-quota", "100")];
        let quota = [("x-ms-share-quota", "200")];
        let acl = [("content-type", "application/xml")];
        for (scheme, query, headers, body, signature) in [
            (
                Scheme::Full,
                "restype=share",
                &create[..],
                0,
                "+VJIFx0QkidLsV5nQ1Fr5F2RDPCGCYGKHM1bEaGe2XQ=",
            ),
            (
                Scheme::Full,
                "restype=share&comp=properties",
                &quota[..],
                0,
                "9Z5nqvFUtXCUv7UGIn1uNWV+k3MXDWQRBhqU9PK8joI=",
            ),
            (
                Scheme::Full,
                "comp=acl&restype=share",
                &acl[..],
                77,
                "xt4sTqJPVqV+qhaK4aFEbE5GD0Npz11vED8zPJwDY94=",
            ),
            (
                Scheme::Lite,
                "restype=share",
                &create[..],
                0,
                "WSRjDAmp7yZrctWmgaVx2Domac1qTN4MiVTESD89uVA=",
            ),
            (
                Scheme::Lite,
                "restype=share&comp=properties",
                &quota[..],
                0,
                "hQinbmnOPb0L4ngYd+Ge6LnhA6/8ZlbjF5B2nOZ4Xc0=",
            ),
        ] {
            assert!(
                signed(scheme, &request(query, headers, body), signature),
                "{query}"
            );
            let other = request(query, &[("x-ms-share-quota", "999")], body);
            assert!(!signed(scheme, &other, signature), "{query}");
        }
    }
}
