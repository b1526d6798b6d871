//! Header fields that belong to one connection and not to the message (RFC 9110, section 7.6.1).

use http::header::{self, HeaderMap, HeaderName};

const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Removes the fields that belong to the connection, those that `Connection` names included.
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|&byte| byte == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn what_connection_names_goes_with_it() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("connection", "close, X-Hop"), ("connection", "x-other"), ("te", "trailers")] {
            headers.append(name, HeaderValue::from_static(value));
        }
        for name in ["x-hop", "x-other", "x-kept"] {
            headers.insert(name, HeaderValue::from_static("1"));
        }
        remove_hop_by_hop(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["x-kept"]);
    }
}
