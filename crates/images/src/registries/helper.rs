//! Credential helpers: programs that a user's own configuration names, and the only ones that are ever run.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use tokio::task::spawn_blocking;

use super::credentials::Secret;
use crate::ImageError;

/// How long a helper may take: some ask a service of a cloud.
pub const HELPER_TIMEOUT: Duration = Duration::from_secs(30);

/// How many bytes of its answer are read.
pub const MAX_HELPER_OUTPUT_BYTES: u64 = 64 * 1024;

/// What a helper gives as the name when its secret is an identity token.
const TOKEN_USER: &str = "<token>";

/// What helpers say when they know nothing of a server.
const NOT_FOUND: &str = "credentials not found";

/// What a helper answers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

/// Whether this can be the name of a helper: it becomes part of the name of a program.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// What the helper of this name says of a server, if it knows it.
pub(super) async fn ask(name: &str, server: &str) -> Result<Option<Secret>, ImageError> {
    let program = format!("docker-credential-{name}");
    let server = server.to_owned();
    match spawn_blocking(move || run(&program, &server, HELPER_TIMEOUT)).await {
        Ok(result) => result,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

fn run(program: &str, server: &str, retry: Duration) -> Result<Option<Secret>, ImageError> {
    let failed = |why: String| ImageError::Helper { program: program.to_owned(), why };
    let mut child = Command::new(program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let answer = talk(&mut child, server, retry);
    if answer.is_none() {
        // It may have ended just now.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    let answer = answer.ok_or_else(|| failed(format!("gave no answer within {} seconds", retry.as_secs())))?;
    if !status.success() {
        // What it says may hold anything; only the one sentence that the protocol defines is looked for.
        let known = !String::from_utf8_lossy(&answer).to_lowercase().contains(NOT_FOUND);
        return if known { Err(failed(status.to_string())) } else { Ok(None) };
    }
    let answer: Answer =
        serde_json::from_slice(&answer).map_err(|_| failed("gave an answer without Username and Secret".to_owned()))?;
    Ok(Some(match answer.username {
        user if user == TOKEN_USER => Secret::Token(answer.secret),
        user => Secret::Password { user, password: answer.secret },
    }))
}

/// Tells a helper the server and reads its answer, unless it takes too long.
fn talk(child: &mut Child, server: &str, retry: Duration) -> Option<Vec<u8>> {
    let mut input = child.stdin.take()?;
    let output = child.stdout.take()?;
    // A helper that does not read needs no answer: what it says itself counts.
    let _ = input.write_all(server.as_bytes());
    drop(input);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut answer = Vec::new();
        let read = output.take(MAX_HELPER_OUTPUT_BYTES).read_to_end(&mut answer);
        // Nobody waits for it any more after the time-out.
        let _ = sender.send(read.map(|_| answer));
    });
    receiver.recv_timeout(retry).ok()?.ok()
}

#[cfg(test)]
mod tests;
