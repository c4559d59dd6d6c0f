//! Helpers as scripts: what they are told, and what becomes of what they say.

use std::fs;
use std::process::Command;

use super::*;

/// Runs a helper of this script for the server `quay.io`.
fn run_script(script: &str, retry: Duration) -> Result<Option<(String, String)>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("helper");
    // Written by another process: while this one has it open, so may a child that another test has
    // just started, and the system executes no file that somebody may write (ETXTBSY).
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
    assert!(
        Command::new("sh")
            .args(["-c", write])
            .arg(&path)
            .arg(script)
            .status()
            .unwrap()
            .success()
    );
    match run(path.to_str().unwrap(), "quay.io", retry) {
        Ok(None) => Ok(None),
        Ok(Some(RegistrySecret::Password { user, password })) => Ok(Some((user, password))),
        Ok(Some(RegistrySecret::IdentityToken(token))) => Ok(Some(("token".to_owned(), token))),
        Err(error) => Err(error.to_string().replace(path.to_str().unwrap(), "it")),
    }
}

#[test]
fn a_helper_is_told_the_server_and_gives_a_password_or_a_token() {
    let script = r#"[ "$1" = get ] && echo "{\"ServerURL\":\"x\",\"Username\":\"me\",\"Secret\":\"for $(cat)\"}""#;
    assert_eq!(
        run_script(script, HELPER_TIMEOUT),
        Ok(Some(("me".to_owned(), "for quay.io".to_owned())))
    );
    let script = r#"echo '{"Username":"<token>","Secret":"long"}'"#;
    assert_eq!(
        run_script(script, HELPER_TIMEOUT),
        Ok(Some(("token".to_owned(), "long".to_owned())))
    );
}

#[test]
fn a_helper_may_know_nothing_and_else_its_failure_is_told_without_its_words() {
    assert_eq!(
        run_script(
            "echo credentials not found in native keychain; exit 1",
            HELPER_TIMEOUT
        ),
        Ok(None)
    );
    let more = "run `echo HOST | it get` to see more";
    let failed = |reason: &str| {
        Err(format!(
            "the credential helper `it` failed: {reason}; {more}"
        ))
    };
    assert_eq!(
        run_script("echo my secret; exit 3", HELPER_TIMEOUT),
        failed("exit status: 3")
    );
    assert_eq!(
        run_script("echo my secret", HELPER_TIMEOUT),
        failed("the output has no Username and Secret")
    );
    assert_eq!(
        run_script("exec cat /dev/zero", HELPER_TIMEOUT),
        failed("signal: 13 (SIGPIPE)")
    );
}

#[test]
fn an_answer_is_read_up_to_its_limit() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let answer = r#"{"Username":"me","Secret":"it"}"#;
    let limit = usize::try_from(MAX_HELPER_OUTPUT_BYTES).unwrap();
    let run_of = |length: usize| {
        fs::write(
            file.path(),
            format!("{}{answer}", " ".repeat(length - answer.len())),
        )
        .unwrap();
        run_script(
            &format!("exec cat {}", file.path().display()),
            HELPER_TIMEOUT,
        )
    };
    assert_eq!(run_of(limit), Ok(Some(("me".to_owned(), "it".to_owned()))));
    assert!(run_of(limit + 1).is_err());
}

#[test]
fn a_helper_that_takes_too_long_is_ended() {
    let error = run_script("exec tail -f /dev/null", Duration::from_millis(50)).unwrap_err();
    assert!(error.contains("no output within 0 seconds"), "{error}");
    let script = r#"echo '{"Username":"me","Secret":"it"}'; exec tail -f /dev/null >/dev/null"#;
    let error = run_script(script, Duration::from_millis(50)).unwrap_err();
    assert!(
        error.contains("it has not ended within 0 seconds"),
        "{error}"
    );
}

#[test]
fn a_name_leads_to_no_other_folder() {
    assert!(
        ["ecr-login", "gcloud", "osxkeychain", "a.b_c"]
            .into_iter()
            .all(is_name)
    );
    assert!(
        !["", "../evil", "a/b", "a b", "a;b"]
            .into_iter()
            .any(is_name)
    );
}
