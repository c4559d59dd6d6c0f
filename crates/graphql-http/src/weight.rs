//! Weights of requests: the memory that a request may take once it is parsed, estimated from its
//! text in one pass. A queued request has a parsed document and variables, which can be far larger
//! than their text: a budget that counted text would be exceeded many times.

/// Memory in bytes of a parsed document for each byte of its text (approximate).
const BYTES_PER_TEXT_BYTE: usize = 40;

/// Memory in bytes for each item of a list: a JSON value, in a list that may have twice the
/// capacity that it needs.
const BYTES_PER_ITEM: usize = 64;

/// Memory in bytes of a list with the capacity that it begins with.
const BYTES_PER_LIST: usize = 160;

/// Memory in bytes of an object: a node of the tree that its members are in, which has room for
/// eleven.
const BYTES_PER_OBJECT: usize = 704;

/// Memory in bytes of a member of an object beyond those for which a node has room, with its name.
const BYTES_PER_MEMBER: usize = 128;

/// Returns an upper bound of the memory that a request in JSON takes, its text included. Text that
/// is not JSON has one too.
pub(super) fn json_weight(text: &[u8]) -> usize {
    let mut weight = text.len();
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'"' => {
                let length = string_length(after);
                weight += length * BYTES_PER_TEXT_BYTE;
                rest = &after[length..];
            }
            b',' => weight += BYTES_PER_ITEM,
            b'[' => weight += BYTES_PER_LIST,
            b'{' => weight += BYTES_PER_OBJECT,
            b':' => weight += BYTES_PER_MEMBER,
            _ => {}
        }
    }
    weight
}

/// Returns the length of a string after its first quote, with the last one if there is one.
fn string_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = text
        .get(at..)
        .and_then(|rest| rest.iter().position(|byte| matches!(byte, b'"' | b'\\')))
    {
        at += found;
        if text[at] == b'"' {
            return at + 1;
        }
        // An escaped quote does not end the string.
        at += 2;
    }
    text.len()
}

/// Returns an upper bound of the memory that a request in the parameters of a URL takes.
pub(super) fn url_weight(parameters: &str) -> usize {
    let parsed = form_urlencoded::parse(parameters.as_bytes());
    let weights = parsed.map(|(name, value)| match &*name {
        "variables" | "extensions" => json_weight(value.as_bytes()),
        _ => value.len() * BYTES_PER_TEXT_BYTE,
    });
    parameters.len() + weights.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_weigh_as_documents_and_the_rest_by_its_structure() {
        assert_eq!(json_weight(b""), 0);
        assert_eq!(json_weight(br#""a\"{[""#), 7 + 6 * BYTES_PER_TEXT_BYTE);
        assert_eq!(json_weight(br"[0,0]"), 5 + BYTES_PER_LIST + BYTES_PER_ITEM);
        let object = 8 + BYTES_PER_OBJECT + BYTES_PER_MEMBER + 2 * BYTES_PER_TEXT_BYTE;
        assert_eq!(json_weight(br#"{"a": 1}"#), object);
        assert_eq!(
            url_weight("query=abc&variables=%7B%22a%22:+1%7D"),
            36 + 3 * BYTES_PER_TEXT_BYTE + object
        );
        assert_eq!(url_weight("%76ariables=%5B%5D"), 18 + 2 + BYTES_PER_LIST);
    }

    #[test]
    fn values_take_no_more_than_they_weigh() {
        // A vector doubles its capacity and begins with four items; a node of a map has eleven
        // members.
        assert!(2 * size_of::<serde_json::Value>() <= BYTES_PER_ITEM);
        assert!(4 * size_of::<serde_json::Value>() <= BYTES_PER_LIST);
        assert!(11 * size_of::<(String, serde_json::Value)>() <= BYTES_PER_OBJECT);
    }

    #[test]
    fn a_request_of_normal_size_weighs_little() {
        let query =
            "query Tiles($first: Int!) { packages(first: $first) { nodes { name icon { url } } } }";
        let body = serde_json::json!({ "query": query.repeat(10), "variables": { "first": 50 } })
            .to_string();
        assert!(json_weight(body.as_bytes()) < crate::SMALL_REQUEST_BYTES);
    }
}
