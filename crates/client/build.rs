//! Makes Rust types of the documents, checked against the schema of the server.

use std::fs;
use std::path::{Path, PathBuf};

use graphql_client_codegen::{
    CodegenMode, GraphQLClientCodegenOptions, generate_module_token_stream,
};

/// The schema of the server.
const SCHEMA: &str = "../../schema.graphql";

/// The documents, one operation in each.
const DOCUMENTS: &str = "documents";

/// Documents with large filters, of which most fields are not given. Variables with an enum have no
/// default.
const DEFAULTED: [&str; 2] = ["bundles", "packages"];

fn main() {
    println!("cargo::rerun-if-changed={SCHEMA}");
    println!("cargo::rerun-if-changed={DOCUMENTS}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names a folder"));
    let schema = out.join("schema.graphql");
    let text = fs::read_to_string(SCHEMA).expect("the schema can be read");
    fs::write(&schema, without_schema_block(&text)).expect("the folder of cargo can be written to");
    let mut paths: Vec<_> = fs::read_dir(DOCUMENTS)
        .expect("there are documents")
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    paths.sort();
    let modules = paths
        .iter()
        .map(|path| module(path, &schema))
        .collect::<String>();
    fs::write(out.join("documents.rs"), modules).expect("the folder of cargo can be written to");
}

/// The types of one document.
fn module(path: &Path, schema: &Path) -> String {
    let mut options = GraphQLClientCodegenOptions::new(CodegenMode::Cli);
    options.set_module_visibility(syn::parse_str("pub(crate)").expect("this is a visibility"));
    let is_defaulted = path
        .file_stem()
        .is_some_and(|name| DEFAULTED.iter().any(|defaulted| name == *defaulted));
    options.set_variables_derives(
        if is_defaulted {
            "Clone,Debug,Default"
        } else {
            "Clone,Debug"
        }
        .to_owned(),
    );
    options.set_response_derives("Debug".to_owned());
    options.set_skip_serializing_none(true);
    // Members of a union that a newer server has and this client does not know.
    options.set_fragments_other_variant(true);
    let tokens = generate_module_token_stream(path.to_owned(), schema, options);
    tokens
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .to_string()
}

/// The schema without its block `schema { … }` and the description before that, which the parser of
/// the generator does not know. What the block names are the defaults.
fn without_schema_block(text: &str) -> &str {
    let begin = text.find("\nschema {").expect("the schema has the block");
    let length = text[begin..].find('}').expect("the block ends");
    &text[begin + length + 1..]
}
