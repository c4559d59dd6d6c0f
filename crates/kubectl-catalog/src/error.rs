//! Errors of the client as errors of a command: exit status, message and hint.

use catalogql_client::ClientError;
use commands::{CommandError, ExitStatus};
use printing::error_chain;

/// Code of the error for a document that the schema of the server does not allow.
const INVALID: &str = "GRAPHQL_VALIDATION_FAILED";

/// Code of the error for a document that the server does not trust.
const UNTRUSTED: &str = "QUERY_NOT_IN_SAFELIST";

/// Returns the error of a command for an error of the client.
#[expect(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
pub(crate) fn server_error(error: ClientError) -> CommandError {
    let status = match &error {
        ClientError::Changed => ExitStatus::Changed,
        ClientError::Ambiguous(_) => ExitStatus::NotFound,
        ClientError::TooManyObjects { .. } => ExitStatus::Usage,
        // A proxy has answered, and no server.
        ClientError::Refused {
            code: None,
            status: 502..=504,
            ..
        } => ExitStatus::NoServer,
        ClientError::Refused { .. } => ExitStatus::Refused,
        _ => ExitStatus::NoServer,
    };
    let is_proxy_error = matches!(
        &error,
        ClientError::Refused {
            code: None,
            status: 500..=504,
            ..
        }
    );
    let is_route = is_proxy_error
        || matches!(
            &error,
            ClientError::NotAllowed { .. } | ClientError::NotFound { .. }
        );
    let hint = match &error {
        ClientError::NotAllowed { status: 401, .. } => Some("--token gives a bearer token"),
        ClientError::NotAllowed { status: 403, .. } => Some(
            "the Roles `catalogql-viewer` and `catalogql-port-forward` have the rights: docs/how-to/kubectl-catalog.md",
        ),
        // A typo is none of another version.
        ClientError::Refused { message, .. } if message.contains("Did you mean") => None,
        ClientError::Refused {
            code: Some(code), ..
        } if code == INVALID => Some(
            "the server may be older or newer than this program: `kubectl catalog version` shows both",
        ),
        ClientError::Refused {
            code: Some(code), ..
        } if code == UNTRUSTED => Some(
            "`kubectl catalog documents` prints the documents of this program, which the server trusts with --documents FILE",
        ),
        ClientError::Unreachable { .. } if is_wrong_name(&error) => {
            Some("--server takes one of the names that the certificate is for")
        }
        ClientError::Unreachable { .. } if is_certificate_error(&error) => Some(
            "--certificate-authority names the authority of the server's certificate, --insecure-skip-tls-verify takes any",
        ),
        ClientError::Unreachable { .. } if is_plain_http(&error) => Some(
            "the server seems to speak plain HTTP: write its URL with http:// instead of https://",
        ),
        ClientError::Unreachable { .. } if is_tls(&error) => {
            Some("the server seems to speak TLS: write its URL with https:// instead of http://")
        }
        ClientError::Unreachable { .. } => {
            Some("is a server running there? --server URL or CATALOGQL_SERVER names another")
        }
        ClientError::Ambiguous(_) => Some("name one with --namespace"),
        ClientError::NotCached => Some("run the command once without --offline"),
        _ => None,
    };
    let code = match &error {
        ClientError::Refused {
            code: Some(code), ..
        } => format!(" ({code})"),
        _ => String::new(),
    };
    let mut failure =
        CommandError::from_api(status, &(error_chain(&error).replace('\n', " ") + &code));
    failure.is_route = is_route;
    failure.hint_if(hint.map(str::to_owned))
}

/// Returns the error of a command for an error of the API server, which the kubeconfig file names.
pub(crate) fn api_server_error(error: ClientError) -> CommandError {
    let hint = match &error {
        ClientError::Unreachable { .. } => Some(
            "`kubectl cluster-info` tells whether this API server answers; --context or --kubeconfig names another",
        ),
        ClientError::Setup(_) => Some(
            "--kubeconfig FILE or the variable KUBECONFIG names the kubeconfig file of a cluster",
        ),
        _ => None,
    };
    server_error(error).hint_if(hint.map(str::to_owned))
}

/// Returns the error for what the cluster, and not the server, has answered: another route to the
/// server would not help. The page has the rights that the command needs.
pub(crate) fn cluster_error(error: ClientError, page: &str) -> CommandError {
    let is_forbidden = matches!(error, ClientError::NotAllowed { status: 403, .. });
    let mut failure = api_server_error(error);
    failure.is_route = false;
    if is_forbidden {
        failure.status = ExitStatus::Usage;
        failure.hint = Some(format!("{page} lists the rights that this command needs"));
    }
    failure
}

/// Returns `true` if the certificate of the server is not trusted. The libraries have a type each
/// for this error, but the same words.
fn is_certificate_error(error: &ClientError) -> bool {
    error_chain(error).contains("invalid peer certificate")
}

/// Returns `true` if the certificate of the server is for other names.
fn is_wrong_name(error: &ClientError) -> bool {
    error_chain(error).contains("certificate not valid for name")
}

/// Returns `true` if the peer answers a plain request with TLS, in the words of hyper.
fn is_tls(error: &ClientError) -> bool {
    error_chain(error).contains("invalid HTTP version parsed")
}

/// Returns `true` if the peer does not speak TLS, in the words of rustls.
fn is_plain_http(error: &ClientError) -> bool {
    error_chain(error).contains("InvalidContentType")
}
