//! The tools: one document each, with the types of its variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::ListLength;
use crate::arguments::{
    BundleArguments, MirrorArguments, NoArguments, PackageArguments, PlatformUpgradeArguments,
    ResolveArguments, SearchArguments, SolveArguments, UpgradesArguments,
};

/// Folder of the documents, which a gateway for GraphQL documents can serve, too.
macro_rules! document {
    ($name:literal) => {
        include_str!(concat!(
            "../../../clients/apollo-mcp/operations/",
            $name,
            ".graphql"
        ))
    };
}

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CatalogTool {
    /// Lists catalogs.
    ListCatalogs,
    /// Finds packages.
    SearchPackages,
    /// Describes a package.
    DescribePackage,
    /// Describes a bundle.
    DescribeBundle,
    /// Lists upgrades of a bundle.
    AvailableUpgrades,
    /// Resolves one package.
    ResolvePackage,
    /// Resolves packages with dependencies.
    SolveDependencies,
    /// Selects what to mirror.
    PlanMirror,
    /// Plans the upgrade of a platform.
    PlanPlatformUpgrade,
}

/// All tools, in the order of a list.
pub(crate) const TOOLS: [CatalogTool; 9] = [
    CatalogTool::ListCatalogs,
    CatalogTool::SearchPackages,
    CatalogTool::DescribePackage,
    CatalogTool::DescribeBundle,
    CatalogTool::AvailableUpgrades,
    CatalogTool::ResolvePackage,
    CatalogTool::SolveDependencies,
    CatalogTool::PlanMirror,
    CatalogTool::PlanPlatformUpgrade,
];

impl CatalogTool {
    /// Returns the tool of a name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        TOOLS.into_iter().find(|tool| tool.name() == name)
    }

    /// Name that clients call.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ListCatalogs => "list_catalogs",
            Self::SearchPackages => "search_packages",
            Self::DescribePackage => "describe_package",
            Self::DescribeBundle => "describe_bundle",
            Self::AvailableUpgrades => "available_upgrades",
            Self::ResolvePackage => "resolve_package",
            Self::SolveDependencies => "solve_dependencies",
            Self::PlanMirror => "plan_mirror",
            Self::PlanPlatformUpgrade => "plan_platform_upgrade",
        }
    }

    /// Name for people.
    fn title(self) -> &'static str {
        match self {
            Self::ListCatalogs => "List catalogs",
            Self::SearchPackages => "Search packages",
            Self::DescribePackage => "Describe a package",
            Self::DescribeBundle => "Describe a bundle",
            Self::AvailableUpgrades => "List available upgrades",
            Self::ResolvePackage => "Resolve a package (OLM v1)",
            Self::SolveDependencies => "Solve dependencies",
            Self::PlanMirror => "Plan a mirror",
            Self::PlanPlatformUpgrade => "Plan a platform upgrade",
        }
    }

    /// GraphQL document.
    pub(crate) fn document(self) -> &'static str {
        match self {
            Self::ListCatalogs => document!("list_catalogs"),
            Self::SearchPackages => document!("search_packages"),
            Self::DescribePackage => document!("describe_package"),
            Self::DescribeBundle => document!("describe_bundle"),
            Self::AvailableUpgrades => document!("available_upgrades"),
            Self::ResolvePackage => document!("resolve_package"),
            Self::SolveDependencies => document!("solve_dependencies"),
            Self::PlanMirror => document!("plan_mirror"),
            Self::PlanPlatformUpgrade => document!("plan_platform_upgrade"),
        }
    }

    /// Description: the comment at the beginning of the document.
    fn description(self) -> String {
        let comment = self.document().lines();
        let comment = comment.map_while(|line| line.strip_prefix("# "));
        comment.collect::<Vec<_>>().join(" ")
    }

    /// Checks arguments, and returns the variables of the document.
    ///
    /// # Errors
    /// An argument is missing, unknown, or of another type.
    pub(crate) fn variables(
        self,
        arguments: JsonObject,
    ) -> Result<Map<String, Value>, serde_json::Error> {
        match self {
            Self::ListCatalogs => checked::<NoArguments>(arguments),
            Self::SearchPackages => checked::<SearchArguments>(arguments),
            Self::DescribePackage => checked::<PackageArguments>(arguments),
            Self::DescribeBundle => checked::<BundleArguments>(arguments),
            Self::AvailableUpgrades => checked::<UpgradesArguments>(arguments),
            Self::ResolvePackage => checked::<ResolveArguments>(arguments),
            Self::SolveDependencies => checked::<SolveArguments>(arguments),
            Self::PlanMirror => checked::<MirrorArguments>(arguments),
            Self::PlanPlatformUpgrade => checked::<PlatformUpgradeArguments>(arguments),
        }
    }

    /// Returns a sentence about lists that were cut: how to see the rest; nothing if none was.
    pub(crate) fn rest(self, omitted: &BTreeMap<String, ListLength>) -> String {
        if omitted.is_empty() {
            return String::new();
        }
        let lists = omitted.iter().map(|(path, length)| {
            let ListLength { shown, total } = length;
            format!("{shown} of {total} `{path}`")
        });
        let lists = lists.collect::<Vec<_>>().join(", ");
        let advice = match self {
            Self::ListCatalogs => "GraphQL and `catalogql list catalogs` have all",
            Self::SearchPackages => "search for more words, or with a smaller `first`",
            Self::DescribePackage | Self::DescribeBundle => {
                "name one catalog in `catalogs`, or see `catalogql show`"
            }
            Self::AvailableUpgrades => "name `channels` or the `cluster`",
            Self::ResolvePackage => "name `channels`, or a range in `version`",
            Self::SolveDependencies => "ask for fewer packages, or see `catalogql solve`",
            Self::PlanMirror => "ask for fewer packages, or see `catalogql mirror plan`",
            Self::PlanPlatformUpgrade => "ask for fewer operators, or see `catalogql upgrade-plan`",
        };
        format!(" Shown are {lists}; for the rest, {advice}.")
    }

    fn input_schema(self) -> Arc<JsonObject> {
        match self {
            Self::ListCatalogs => schema::<NoArguments>(),
            Self::SearchPackages => schema::<SearchArguments>(),
            Self::DescribePackage => schema::<PackageArguments>(),
            Self::DescribeBundle => schema::<BundleArguments>(),
            Self::AvailableUpgrades => schema::<UpgradesArguments>(),
            Self::ResolvePackage => schema::<ResolveArguments>(),
            Self::SolveDependencies => schema::<SolveArguments>(),
            Self::PlanMirror => schema::<MirrorArguments>(),
            Self::PlanPlatformUpgrade => schema::<PlatformUpgradeArguments>(),
        }
    }

    /// Returns the tool as the protocol describes it.
    pub(crate) fn listed(self) -> Tool {
        let annotations = ToolAnnotations::new()
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false);
        Tool::new(self.name(), self.description(), self.input_schema())
            .with_title(self.title())
            .with_annotations(annotations)
    }
}

/// Returns the documents of the tools by their names, as a JSON object, for
/// [`Engine::trust`](graphql::Engine::trust).
pub fn trusted_documents() -> String {
    let documents = TOOLS.map(|tool| (tool.name().to_owned(), tool.document().into()));
    Value::Object(documents.into_iter().collect()).to_string()
}

fn checked<A: DeserializeOwned + Serialize>(
    arguments: JsonObject,
) -> Result<Map<String, Value>, serde_json::Error> {
    let arguments: A = serde_json::from_value(Value::Object(arguments))?;
    match serde_json::to_value(arguments)? {
        Value::Object(variables) => Ok(variables),
        _ => Ok(Map::new()),
    }
}

fn schema<A: JsonSchema + 'static>() -> Arc<JsonObject> {
    let schema = schema_for_input::<A>().expect("arguments are an object");
    let mut schema = Arc::unwrap_or_clone(schema);
    for member in schema.values_mut() {
        remove_null(member);
    }
    Arc::new(schema)
}

/// Removes `null` from the types of optional arguments: a client leaves them out. Some clients know
/// only one type for each argument.
fn remove_null(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for member in members.values_mut() {
                remove_null(member);
            }
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(alternatives)) = members.get_mut("anyOf") {
                alternatives.retain(|alternative| alternative["type"] != "null");
                if let [Value::Object(only)] = &alternatives[..] {
                    let only = only.clone();
                    members.remove("anyOf");
                    for (name, value) in only {
                        members.entry(name).or_insert(value);
                    }
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(remove_null),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use graphql::Engine;
    use graphql::limits::Limits;
    use serving::catalogs;

    use super::*;

    #[test]
    fn every_document_is_valid_and_within_the_limits_of_a_server() {
        let (_, reader) = catalogs();
        let mut engine = Engine::new(reader, "test", Limits::default());
        assert_eq!(engine.trust(&trusted_documents()).ok(), Some(TOOLS.len()));
    }

    /// Names of the variables of a document, each with `!` if it must be given.
    fn variables(document: &str) -> BTreeSet<String> {
        let (_, operation) = document.split_once("\nquery ").unwrap();
        let (head, _) = operation.split_once(" {\n").unwrap();
        let definitions = head.split('$').skip(1);
        let variables = definitions.map(|definition| {
            let (name, rest) = definition.split_once(": ").unwrap();
            let (kind, has_default) = match rest.split_once(" = ") {
                Some((kind, _)) => (kind, true),
                None => (rest, false),
            };
            let is_required = kind.trim_end_matches([',', ' ', ')', '\n']).ends_with('!');
            let mark = if is_required && !has_default { "!" } else { "" };
            format!("{name}{mark}")
        });
        variables.collect()
    }

    #[test]
    fn the_arguments_of_a_tool_are_the_variables_of_its_document() {
        for tool in TOOLS {
            let schema = Value::Object((*tool.input_schema()).clone());
            let properties = schema["properties"].as_object().into_iter().flatten();
            let required = schema["required"].as_array().into_iter().flatten();
            let required: Vec<_> = required.filter_map(Value::as_str).collect();
            let arguments = properties.map(|(name, _)| {
                let mark = if required.contains(&name.as_str()) {
                    "!"
                } else {
                    ""
                };
                format!("{name}{mark}")
            });
            assert_eq!(
                arguments.collect::<BTreeSet<_>>(),
                variables(tool.document()),
                "{tool:?}"
            );
        }
    }

    #[test]
    fn each_file_of_the_folder_is_the_document_of_a_tool() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../clients/apollo-mcp/operations"
        );
        let files = std::fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let expected = TOOLS.map(|tool| format!("{}.graphql", tool.name()));
        assert_eq!(names.collect::<BTreeSet<_>>(), BTreeSet::from(expected));
    }

    #[test]
    fn an_argument_has_one_type() {
        let schemas: Vec<_> = TOOLS
            .map(|tool| Value::Object((*tool.input_schema()).clone()))
            .into();
        let text = Value::Array(schemas.clone()).to_string();
        assert!(!text.contains("null") && !text.contains("anyOf"), "{text}");
        let search = &schemas[1]["properties"];
        assert_eq!(
            search["first"],
            serde_json::json!({
                "description": "Number of packages to return, 1 to 20; 10 when absent.",
                "format": "uint8",
                "maximum": 20,
                "minimum": 1,
                "type": "integer",
            })
        );
        let policy = &schemas[6]["properties"]["policy"];
        assert_eq!(
            [&policy["description"], &policy["oneOf"][1]["const"]],
            ["Rules to follow; those of OLM v0 when absent.", "OLM_V1"]
        );
    }

    #[test]
    fn every_tool_and_every_argument_is_described() {
        for tool in TOOLS {
            let listed = tool.listed();
            let description = listed.description.unwrap();
            assert!(description.ends_with('.'), "{tool:?}: {description}");
            let schema = Value::Object((*listed.input_schema).clone());
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                assert!(property["description"].is_string(), "{tool:?}: {name}");
            }
            assert_eq!(CatalogTool::find(tool.name()), Some(tool));
        }
    }

    #[test]
    fn arguments_of_other_names_types_and_sizes_are_rejected() {
        let check = |json: &str| {
            let arguments = serde_json::from_str(json).unwrap();
            let checked = CatalogTool::SearchPackages.variables(arguments);
            checked.map(Value::from).map_err(|error| error.to_string())
        };
        let accepted = serde_json::json!({ "text": "a", "first": 20 });
        assert_eq!(
            check(r#"{"text": "a", "first": 20, "after": null}"#),
            Ok(accepted)
        );
        for (json, message) in [
            ("{}", "missing field `text`"),
            (
                r#"{"text": 1}"#,
                "invalid type: integer `1`, expected a string",
            ),
            (
                r#"{"text": "a", "first": 21}"#,
                "`first` is 21: write 1 to 20",
            ),
            (
                r#"{"text": "a", "first": 0}"#,
                "`first` is 0: write 1 to 20",
            ),
            (
                r#"{"text": "a", "catalogs": "b"}"#,
                "invalid type: string \"b\", expected a sequence",
            ),
            (
                r#"{"text": "a", "query": "{ catalogs { name } }"}"#,
                "unknown field `query`, expected one of `text`, `catalogs`, `first`, `after`",
            ),
        ] {
            assert_eq!(check(json), Err(message.to_owned()), "{json}");
        }
    }
}
