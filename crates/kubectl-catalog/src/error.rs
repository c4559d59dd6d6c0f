//! How a command ends that does not do what it was asked for: its message, a hint, and the exit
//! status.

use catalogql_client::Error;

/// Code of the error for a document that the schema of the server does not allow.
const INVALID: &str = "GRAPHQL_VALIDATION_FAILED";

/// Exit statuses, besides 0 for what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// A negative answer: no path, nothing would be installed, contents differ.
    Negative = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The server was not found, cannot be reached, or does not allow it.
    NoServer = 3,
    /// What was named does not exist, or is not the only one of its name.
    NotFound = 4,
    /// The content is not the one that `--digest` names.
    Changed = 5,
    /// The server refused the request.
    Refused = 6,
}

/// The end of a command that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandError {
    pub(crate) status: ExitStatus,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Whether the way to the server is at fault, so that another one may lead there.
    pub(crate) is_route: bool,
}

impl CommandError {
    pub(crate) fn new(status: ExitStatus, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            hint: None,
            is_route: false,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Changed => ExitStatus::Changed,
            Error::Ambiguous(_) => ExitStatus::NotFound,
            // A proxy has answered, and no server.
            Error::Refused {
                code: None,
                status: 502..=504,
                ..
            } => ExitStatus::NoServer,
            Error::Refused { .. } => ExitStatus::Refused,
            _ => ExitStatus::NoServer,
        };
        let is_proxy_error = matches!(
            &error,
            Error::Refused {
                code: None,
                status: 500..=504,
                ..
            }
        );
        let is_route =
            is_proxy_error || matches!(&error, Error::NotAllowed { .. } | Error::NotFound { .. });
        let hint = match &error {
            Error::NotAllowed { status: 401, .. } => Some("--token gives a bearer token"),
            Error::NotAllowed { status: 403, .. } => Some(
                "the Roles `catalogql-viewer` and `catalogql-port-forward` have the rights: docs/how-to/kubectl-catalog.md",
            ),
            Error::Refused {
                code: Some(code), ..
            } if code == INVALID => Some(
                "the server may be older or newer than this program: `kubectl catalog version` shows both",
            ),
            Error::Unreachable { .. } if is_certificate_error(&error) => Some(
                "--certificate-authority names the authority of the server's certificate, --insecure-skip-tls-verify takes any",
            ),
            Error::Unreachable { .. } if is_plain_http(&error) => Some(
                "the server seems to speak plain HTTP: write its URL with http:// instead of https://",
            ),
            Error::Unreachable { .. } => Some("--server names another URL"),
            Error::Ambiguous(_) => Some("name one with --namespace"),
            Error::NotCached => Some("run the command once without --offline"),
            _ => None,
        };
        let code = match &error {
            Error::Refused {
                code: Some(code), ..
            } => format!(" ({code})"),
            _ => String::new(),
        };
        Self {
            status,
            message: chain(&error) + &code,
            hint: hint.map(str::to_owned),
            is_route,
        }
    }
}

/// Whether the certificate of the server is not trusted. The libraries have types of their own for
/// it, and words in common.
fn is_certificate_error(error: &Error) -> bool {
    chain(error).contains("invalid peer certificate")
}

/// Whether what answers a handshake of TLS is not TLS, in the words of rustls.
fn is_plain_http(error: &Error) -> bool {
    chain(error).contains("InvalidContentType")
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self::new(ExitStatus::Usage, format!("cannot print: {error}"))
    }
}

/// The message of an error with its causes, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some errors repeat their cause.
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text.replace('\n', " ")
}
