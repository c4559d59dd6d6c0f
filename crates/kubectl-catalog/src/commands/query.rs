//! `query` and `version`: any document, and who answers.

use std::io::Read as _;
use std::{fs, io};

use printing::text;
use serde_json::{Map, Value, json};

use crate::args::QueryArgs;
use crate::context::CommandContext;
use crate::documents::SERVER;
use crate::error::{CommandError, ExitStatus};
use crate::output::{OutputFormat, is_structured, print, print_object, yaml};

/// Version of this program.
const CLIENT: &str = env!("CARGO_PKG_VERSION");

/// The argument that stands for standard input.
const STDIN: &str = "-";

/// Executes a document and prints its data.
pub(super) async fn query(context: &CommandContext, args: &QueryArgs) -> Result<(), CommandError> {
    let unreadable = |error: io::Error| {
        CommandError::new(
            ExitStatus::Usage,
            format!("cannot read the document: {error}"),
        )
    };
    let document = match (&args.file, args.document.as_deref()) {
        (Some(path), _) => fs::read_to_string(path).map_err(unreadable)?,
        (None, Some(STDIN)) => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map_err(unreadable)?;
            text
        }
        (None, document) => document.unwrap_or_default().to_owned(),
    };
    let variables: Map<_, _> = args.variables.iter().cloned().collect();
    let client = &context.client;
    let response = client
        .execute_operation(
            &document,
            args.operation.as_deref(),
            &Value::Object(variables),
        )
        .await?;
    match &context.output {
        OutputFormat::JsonPath(template) => print(&template.apply(&response.data)),
        OutputFormat::Yaml => print(&yaml(&response.data)),
        _ => print(&(serde_json::to_string_pretty(&response.data).expect("it is JSON") + "\n")),
    }
}

/// Prints the version of this program, before the server is asked for its own.
pub(super) fn client_version(output: &OutputFormat) -> Result<(), CommandError> {
    if is_structured(output) {
        Ok(())
    } else {
        print(&format!("client  {CLIENT}\n"))
    }
}

/// Prints the version of the server; as data, with that of this program.
pub(super) async fn version(context: &CommandContext) -> Result<(), CommandError> {
    let data = context.data(SERVER, &Value::Null).await?;
    let server = &data["server"];
    if is_structured(&context.output) {
        return print_object(
            "Version",
            &json!({ "client": { "version": CLIENT }, "server": server }),
            &context.output,
        );
    }
    print(&format!(
        "server  {} at {}\ncommit  {}\nschema  {}\n",
        text(server, "/version"),
        context.client.endpoint(),
        text(server, "/commit"),
        text(server, "/schemaDigest"),
    ))
}
