//! Credential helpers: external programs that the user's configuration names. No other program is
//! ever run.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::task::spawn_blocking;

use super::secret::RegistrySecret;
use crate::ImageError;

/// Time-out of a helper. Some query a cloud service.
pub const HELPER_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval at which it is looked whether a helper has ended.
const EXIT_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum number of bytes that are read of a helper's output.
pub const MAX_HELPER_OUTPUT_BYTES: u64 = 64 * 1024;

/// User name that a helper returns with an identity token.
const TOKEN_USER: &str = "<token>";

/// Output of helpers that have no credentials for a server.
const NOT_FOUND: &str = "credentials not found";

/// The output of a helper.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperOutput {
    username: String,
    secret: String,
}

/// Returns whether a helper may have this name, which becomes part of the name of a program.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Queries a helper for the credentials of a server; `None` if it has none.
pub(super) async fn query(name: &str, server: &str) -> Result<Option<RegistrySecret>, ImageError> {
    let program = format!("docker-credential-{name}");
    let server = server.to_owned();
    match spawn_blocking(move || run(&program, &server, HELPER_TIMEOUT)).await {
        Ok(result) => result,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

fn run(
    program: &str,
    server: &str,
    timeout: Duration,
) -> Result<Option<RegistrySecret>, ImageError> {
    let failed = |reason: String| ImageError::CredentialHelper {
        program: program.to_owned(),
        reason,
    };
    let mut child = Command::new(program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let deadline = Instant::now() + timeout;
    let answer = exchange(&mut child, server, timeout);
    let has_exited = answer.is_ok()
        && has_exited_by(deadline, &mut child).map_err(|error| failed(error.to_string()))?;
    if !has_exited {
        // Fails if the helper has just exited, which is fine.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    let answer = answer.map_err(failed)?;
    if !has_exited {
        return Err(failed(format!(
            "it has not ended within {} seconds",
            timeout.as_secs()
        )));
    }
    if !status.success() {
        // The output may contain a secret: it is only searched for the text that the protocol
        // defines.
        let known = !String::from_utf8_lossy(&answer)
            .to_lowercase()
            .contains(NOT_FOUND);
        return if known {
            Err(failed(status.to_string()))
        } else {
            Ok(None)
        };
    }
    let answer: HelperOutput = serde_json::from_slice(&answer)
        .map_err(|_| failed("the output has no Username and Secret".to_owned()))?;
    Ok(Some(match answer.username {
        user if user == TOKEN_USER => RegistrySecret::IdentityToken(answer.secret),
        user => RegistrySecret::Password {
            user,
            password: answer.secret,
        },
    }))
}

/// Returns whether a helper that said all that it says has ended, at the latest at the deadline.
fn has_exited_by(deadline: Instant, child: &mut Child) -> io::Result<bool> {
    loop {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(EXIT_INTERVAL);
    }
}

/// Sends the server to a helper and reads its output, or says why there is none.
fn exchange(child: &mut Child, server: &str, timeout: Duration) -> Result<Vec<u8>, String> {
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (mut input, output) = pipes.ok_or("it has no input and output")?;
    // A helper may exit without reading its input. Its status and output decide.
    let _ = input.write_all(server.as_bytes());
    drop(input);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut answer = Vec::new();
        let read = output
            .take(MAX_HELPER_OUTPUT_BYTES)
            .read_to_end(&mut answer);
        // After the time-out the receiver is gone.
        let _ = sender.send(read.map(|_| answer));
    });
    let read = receiver.recv_timeout(timeout);
    let read = read.map_err(|_| format!("no output within {} seconds", timeout.as_secs()))?;
    read.map_err(|error| format!("cannot read its output: {error}"))
}

#[cfg(test)]
mod tests;
