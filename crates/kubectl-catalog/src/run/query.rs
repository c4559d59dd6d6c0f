//! `query` and `version`: any document, and the versions of both sides.

use std::path::Path;

use commands::args::OperationArgs;
use commands::document_argument::operation_hint;
use commands::output::{OutputFormat, hint, is_structured, print, print_object, print_value};
use commands::{CommandError, document_argument};
use printing::text;
use serde_json::{Value, json};

use crate::context::ServerSession;
use crate::documents::SERVER;
use crate::error::server_error;

/// Version of this program.
const CLIENT: &str = env!("CARGO_PKG_VERSION");

/// Executes a document and prints its data.
pub(super) async fn query(
    session: &ServerSession,
    document: &str,
    args: &OperationArgs,
) -> Result<(), CommandError> {
    let variables = Value::Object(args.variables()?);
    let client = &session.transport.client;
    let response = client
        .execute_operation(document, args.operation.as_deref(), &variables)
        .await
        .map_err(|error| {
            let failure = server_error(error);
            let names = operation_hint(document, &failure.message);
            failure.hint_if(names)
        })?;
    let output = if is_structured(&session.output) {
        &session.output
    } else {
        &OutputFormat::Json
    };
    print_value(&response.data, output)?;
    let suggestions = response.extensions["suggestions"].as_array();
    for suggestion in suggestions.into_iter().flatten() {
        let similar = text(suggestion, "/similar").replace(", ", " or ");
        let value = text(suggestion, "/value");
        hint(&format!("`{value}` not found: did you mean {similar}?"));
    }
    Ok(())
}

/// Reads the document that the command line has or names.
pub(super) fn read_document(
    document: Option<&str>,
    file: Option<&Path>,
) -> Result<String, CommandError> {
    match file {
        Some(path) => document_argument::read_file(path),
        None => document_argument::read_document(document.unwrap_or_default()),
    }
}

/// Prints the version of this program, before any request to the server.
pub(super) fn client_version(output: &OutputFormat) -> Result<(), CommandError> {
    if is_structured(output) {
        Ok(())
    } else {
        print(&format!("client  {CLIENT}\n"))
    }
}

/// Prints the version of the server; as data, with that of this program.
pub(super) async fn version(session: &ServerSession) -> Result<(), CommandError> {
    let data = session.data(SERVER, &Value::Null).await?;
    let server = &data["server"];
    if is_structured(&session.output) {
        return print_object(
            "Version",
            &json!({ "client": { "version": CLIENT }, "server": server }),
            &session.output,
        );
    }
    print(&format!(
        "server  {} at {}\ncommit  {}\nschema  {}\n",
        text(server, "/version"),
        session.transport.client.endpoint(),
        text(server, "/commit"),
        text(server, "/schemaDigest"),
    ))
}
