//! What may be a label: its key and its value, with upstream's words for what may not.

/// The longest name of a key, and the longest value, in bytes. Upstream's limit.
const MAX_NAME_BYTES: usize = 63;

/// The longest prefix of a key, in bytes. Upstream's limit.
const MAX_PREFIX_BYTES: usize = 253;

/// What is wrong with a key: a name, which a DNS name and a slash may precede.
pub(super) fn key_faults(key: &str) -> Vec<String> {
    const NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                        with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                        validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    const KEY: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                       end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                       validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix \
                       and '/' (e.g. 'example.com/MyName')";
    let parts: Vec<_> = key.split('/').collect();
    let (name, mut faults) = match parts[..] {
        [name] => (name, Vec::new()),
        [prefix, name] => (name, prefix_faults(prefix)),
        _ => return vec![KEY.to_owned()],
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > MAX_NAME_BYTES {
        faults.push(format!("name part must be no more than {MAX_NAME_BYTES} bytes"));
    }
    if !is_name(name) {
        faults.push(NAME.to_owned());
    }
    faults
}

/// What is wrong with a value: nothing, or a name.
pub(super) fn value_faults(value: &str) -> Vec<String> {
    const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
                         and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
                         '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let mut faults = Vec::new();
    if value.len() > MAX_NAME_BYTES {
        faults.push(format!("must be no more than {MAX_NAME_BYTES} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        faults.push(VALUE.to_owned());
    }
    faults
}

fn prefix_faults(prefix: &str) -> Vec<String> {
    const SUBDOMAIN: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                             characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
                             'example.com', regex used for validation is \
                             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut faults = Vec::new();
    if prefix.len() > MAX_PREFIX_BYTES {
        faults.push(format!("prefix part must be no more than {MAX_PREFIX_BYTES} bytes"));
    }
    let is_lower = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if !prefix.split('.').all(|part| is_bounded(part, is_lower, |byte| is_lower(byte) || *byte == b'-')) {
        faults.push(SUBDOMAIN.to_owned());
    }
    faults
}

fn is_name(text: &str) -> bool {
    is_bounded(text, u8::is_ascii_alphanumeric, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
    })
}

/// Whether a text is not empty, begins and ends with the one kind of bytes and has only the other between.
fn is_bounded(text: &str, ends: impl Fn(&u8) -> bool, all: impl Fn(&u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(&ends) && bytes.last().is_some_and(&ends) && bytes.iter().all(all)
}
