//! Validates keys and values of labels, with upstream's error texts.

/// Maximum length of the name of a key and of a value, in bytes: upstream's limit.
const MAX_NAME_BYTES: usize = 63;

/// Maximum length of the prefix of a key, in bytes: upstream's limit.
const MAX_PREFIX_BYTES: usize = 253;

/// Returns the errors of a key: a name, after an optional DNS name and a slash.
pub(super) fn key_errors(key: &str) -> Vec<String> {
    const NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                        with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                        validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    const KEY: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                       end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                       validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix \
                       and '/' (e.g. 'example.com/MyName')";
    let parts: Vec<_> = key.split('/').collect();
    let (name, mut errors) = match parts[..] {
        [name] => (name, Vec::new()),
        [prefix, name] => (name, prefix_errors(prefix)),
        _ => return vec![KEY.to_owned()],
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > MAX_NAME_BYTES {
        errors.push(format!(
            "name part must be no more than {MAX_NAME_BYTES} bytes"
        ));
    }
    if !is_name(name) {
        errors.push(NAME.to_owned());
    }
    errors
}

/// Returns the errors of a value, which is empty or a name.
pub(super) fn value_errors(value: &str) -> Vec<String> {
    const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
                         and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
                         '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let mut errors = Vec::new();
    if value.len() > MAX_NAME_BYTES {
        errors.push(format!("must be no more than {MAX_NAME_BYTES} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        errors.push(VALUE.to_owned());
    }
    errors
}

fn prefix_errors(prefix: &str) -> Vec<String> {
    const SUBDOMAIN: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                             characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
                             'example.com', regex used for validation is \
                             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut errors = Vec::new();
    if prefix.len() > MAX_PREFIX_BYTES {
        errors.push(format!(
            "prefix part must be no more than {MAX_PREFIX_BYTES} bytes"
        ));
    }
    let is_lower = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if !prefix
        .split('.')
        .all(|part| is_bounded(part, is_lower, |byte| is_lower(byte) || *byte == b'-'))
    {
        errors.push(SUBDOMAIN.to_owned());
    }
    errors
}

fn is_name(text: &str) -> bool {
    is_bounded(text, u8::is_ascii_alphanumeric, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
    })
}

/// Tells whether a non-empty text begins and ends with bytes that `ends` accepts and has only bytes
/// that `all` accepts.
fn is_bounded(text: &str, ends: impl Fn(&u8) -> bool, all: impl Fn(&u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(&ends) && bytes.last().is_some_and(&ends) && bytes.iter().all(all)
}
