//! The servers that a content came through, as the header `Catalogql-Via` names them: a server that
//! finds itself there follows itself.

use reqwest::header::HeaderMap;

/// Header with the ids of the servers that a content came through, nearest first. A follower sends
/// its own id in it, and a server responds to such a request with the chain.
pub const VIA: &str = "catalogql-via";

/// Maximum number of servers that a content may come through.
pub const MAX_HOPS: usize = 5;

/// Maximum length in bytes of the id of a server. Longer ones are cut.
const MAX_ID_BYTES: usize = 64;

/// Parses the ids of a response. One more than [`MAX_HOPS`] are kept at most, which is enough to see
/// that there are too many.
pub(crate) fn parse(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(VIA).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    let ids = values.flat_map(|value| value.split(',')).map(str::trim);
    ids.filter(|id| !id.is_empty())
        .map(|id| id.chars().take(MAX_ID_BYTES).collect())
        .take(MAX_HOPS + 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn ids_are_read_from_all_fields_up_to_one_too_many() {
        let mut headers = HeaderMap::new();
        assert_eq!(parse(&headers), Vec::<String>::new());
        headers.append(VIA, HeaderValue::from_static("a, b,"));
        headers.append(VIA, HeaderValue::from_static("c"));
        assert_eq!(parse(&headers), ["a", "b", "c"]);
        let long = format!("{}x", "i".repeat(MAX_ID_BYTES));
        headers.insert(
            VIA,
            HeaderValue::from_str(&format!("{long},2,3,4,5,6,7")).unwrap(),
        );
        let ids = parse(&headers);
        assert_eq!((ids.len(), ids[0].len()), (MAX_HOPS + 1, MAX_ID_BYTES));
    }
}
