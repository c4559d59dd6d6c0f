//! Removing secrets from texts: logs, configuration files, command lines and environments.
//!
//! A text that looks like a secret is removed, even if it is none: a value that is missing can be
//! asked for, and a password that was sent cannot be taken back.

use std::sync::LazyLock;

use regex::Regex;

/// Replacement of a secret.
const REDACTED: &str = "REDACTED";

/// Prefix of the environment variables that set flags.
const VARIABLE_PREFIX: &str = "CATALOGQL_";

/// A form that secrets have.
struct SecretForm {
    pattern: Regex,
    /// Replacement of a match, with references to its groups.
    replacement: &'static str,
}

static FORMS: LazyLock<[SecretForm; 7]> = LazyLock::new(|| {
    let form = |pattern: &str, replacement| SecretForm {
        pattern: Regex::new(pattern).expect("the pattern is valid"),
        replacement,
    };
    [
        // Private keys in PEM, also with escaped line feeds.
        form(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
            REDACTED,
        ),
        // User and password of a URL.
        form(
            r#"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?#"'<>]*@"#,
            "${1}REDACTED@",
        ),
        // Credentials of a header.
        form(
            r"(?i)\b(bearer|basic|digest|negotiate)[ \t]+[a-z0-9._~+/=-]{6,}",
            "$1 REDACTED",
        ),
        // `key=value`, `key: value` and JSON, for keys that end with a word for secrets.
        form(
            r#"(?ix)
            ( (?: password | passwd | passphrase | secret | token | apikey | api[_-]key | access[_-]?key
                | accesskeyid | account[_-]?key | private[_-]?key | signing[_-]?key | credentials? | signature | sig
                | authorization | [_"']auth | cookie )
              \\? ["']? \s* [:=] \s* \\? ["']? )
            [^\s"'\\,;&]+
            "#,
            "${1}REDACTED",
        ),
        // Addresses of webhooks, whose paths are secrets of many receivers: one, or a list.
        form(
            r#"(?i)(webhook["']?\s*[:=][\s\["'-]*)https?://[^\s"',\]]+(?:[\s"',-]*https?://[^\s"',\]]+)*"#,
            "${1}REDACTED",
        ),
        // JSON web tokens.
        form(
            r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)*",
            REDACTED,
        ),
        // Keys of AWS, tokens of GitHub, GitLab, Slack and OpenShift.
        form(
            r"\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}|gh[a-z]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|sha256~[A-Za-z0-9_-]{20,})",
            REDACTED,
        ),
    ]
});

/// Returns a text without what looks like a secret.
pub(super) fn redact(text: &str) -> String {
    let mut redacted = text.to_owned();
    for form in FORMS.iter() {
        redacted = form
            .pattern
            .replace_all(&redacted, form.replacement)
            .into_owned();
    }
    redacted
}

/// Returns the arguments of a process, one a line, without secrets. Flags and their values are
/// joined by `=`, so that the name of a flag tells whether its value is a secret.
pub(super) fn redacted_arguments(arguments: &[String]) -> String {
    let mut text = String::new();
    for (index, argument) in arguments.iter().enumerate() {
        let follows_flag =
            index > 0 && is_flag_without_value(&arguments[index - 1]) && !argument.starts_with('-');
        text.push_str(match (index, follows_flag) {
            (0, _) => "",
            (_, true) => "=",
            (_, false) => "\n",
        });
        text.push_str(argument);
    }
    text.push('\n');
    redact(&text)
}

fn is_flag_without_value(argument: &str) -> bool {
    argument.starts_with('-') && !argument.contains('=')
}

/// Returns the environment variables that set flags, without secrets, and only the names of others.
pub(super) fn redacted_variables(variables: &[String]) -> String {
    let mut lines = Vec::new();
    for variable in variables {
        let (name, _) = variable.split_once('=').unwrap_or((variable, ""));
        if name.starts_with(VARIABLE_PREFIX) {
            lines.push(redact(variable));
        } else if !name.is_empty() {
            lines.push(format!("{name} is set"));
        }
    }
    lines.sort_unstable();
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms_of_secrets_are_replaced_and_the_text_around_them_stays() {
        let cases = [
            (
                "pulled https://me:pw@quay.io/x:1",
                "pulled https://REDACTED@quay.io/x:1",
            ),
            ("https://token@host?a=b", "https://REDACTED@host?a=b"),
            (
                "Authorization: Bearer abc.def-ghi",
                "Authorization: REDACTED REDACTED",
            ),
            (
                "curl -H 'authorization: Basic dXNlcjpwYXNz' x",
                "curl -H 'authorization: REDACTED REDACTED' x",
            ),
            (
                r#"{"auths":{"quay.io":{"auth":"dXNlcjpw"}}}"#,
                r#"{"auths":{"quay.io":{"auth":"REDACTED"}}}"#,
            ),
            (
                r#"{"message":"{\"password\":\"hunter2\"}"}"#,
                r#"{"message":"{\"password\":\"REDACTED\"}"}"#,
            ),
            ("clientSecret: abc", "clientSecret: REDACTED"),
            (
                "--token=abc --log-format json",
                "--token=REDACTED --log-format json",
            ),
            (
                "https://b.s3.aws/x?X-Amz-Credential=AK%2F1&X-Amz-Date=2&X-Amz-Signature=ff",
                "https://b.s3.aws/x?X-Amz-Credential=REDACTED&X-Amz-Date=2&X-Amz-Signature=REDACTED",
            ),
            (
                "https://a.blob/x?sv=1&sig=a%2Fb",
                "https://a.blob/x?sv=1&sig=REDACTED",
            ),
            (
                "AWS_SECRET_ACCESS_KEY=wJalr",
                "AWS_SECRET_ACCESS_KEY=REDACTED",
            ),
            ("id AKIAIOSFODNN7EXAMPLE", "id REDACTED"),
            ("t eyJhbGciOi.eyJzdWIi.c2ln end", "t REDACTED end"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nnext",
                "REDACTED\nnext",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMIIE cut", "REDACTED"),
            ("set-cookie: session=abc", "set-cookie: REDACTED"),
            (
                "--webhook=https://hooks.example/T0/x --webhook-secret-file=/etc/s",
                "--webhook=REDACTED --webhook-secret-file=/etc/s",
            ),
            (
                "webhook:\n- https://a.example/x\n- \"https://b.example/y\"\nlisten: x",
                "webhook:\n- REDACTED\"\nlisten: x",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(redact(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        let cases = [
            "pulled quay.io/operatorhubio/catalog@sha256:0123456789abcdef",
            "--signature-policy=/etc/policy.json --require-signatures --metrics-auth=delegated",
            "--tls-private-key-file=/etc/tls/tls.key",
            r#"{"level":"INFO","message":"loaded","catalog":"example","digest":"sha256:ff","packages":4}"#,
            "catalogql_graphql_refused_total{code=\"QUERY_TOO_EXPENSIVE\"} 3",
            "pull secrets of the namespace are read",
            "https://example.com/a@b?c=d",
        ];
        for text in cases {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn arguments_are_joined_with_the_flags_that_they_belong_to() {
        let arguments = [
            "catalogql",
            "serve",
            "--token",
            "abc",
            "--poll=5m",
            "--watch",
            "a=dir:x",
        ];
        assert_eq!(
            redacted_arguments(&arguments.map(str::to_owned)),
            "catalogql\nserve\n--token=REDACTED\n--poll=5m\n--watch=a=dir:x\n"
        );
    }

    #[test]
    fn only_variables_that_set_flags_have_values() {
        let variables = [
            "PATH=/bin",
            "CATALOGQL_POLL=5m",
            "CATALOGQL_TOKEN=abc",
            "DB=hunter2",
            "",
        ];
        assert_eq!(
            redacted_variables(&variables.map(str::to_owned)),
            "CATALOGQL_POLL=5m\nCATALOGQL_TOKEN=REDACTED\nDB is set\nPATH is set\n"
        );
    }

    proptest! {
        #[test]
        fn a_secret_is_found_in_any_text_around_it(
            before in "(?s).{0,40}",
            after in "(?s).{0,40}",
            secret in "[A-Za-z0-9]{12,40}",
        ) {
            let text = format!("{before} password={secret} {after}");
            prop_assume!(!before.contains(&secret) && !after.contains(&secret));
            prop_assert!(!redact(&text).contains(&secret));
        }
    }
}
