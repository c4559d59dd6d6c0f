//! CEL rules of constraints: compiled, checked for types, and evaluated within bounds.

mod check;
mod cost;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use cel::objects::{Key, Map};
use cel::parser::{Expression, Parser};
use cel::{Context, ExecutionError, Value};
use fbc::version::{Version, strict_version};

use crate::facts::RawProperty;
use crate::meter::{Halt, MAX_RULE_STEPS, Meter};
use crate::requirement::Fault;

/// Maximum size of a CEL rule, in bytes.
pub const MAX_RULE_BYTES: usize = 4_096;

/// Maximum number of characters in a CEL rule that can nest expressions, such as operators, dots and brackets. What
/// parses, checks and evaluates rules recurses as deep.
pub const MAX_RULE_OPERATORS: usize = 400;

/// Maximum number of macros of a CEL rule inside of one another.
pub const MAX_RULE_DEPTH: usize = 3;

/// Maximum size of a compiled pattern of `matches`, in bytes: what looks for one takes time by its size.
pub const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// A compiled rule.
pub(crate) struct Rule {
    text: String,
    expression: Expression,
}

/// The variable `properties` of a rule.
#[derive(Debug)]
pub(crate) struct RuleInput {
    properties: Value,
    size: cost::Size,
}

thread_local! {
    /// The functions of rules: made once for each thread, because it takes longer than most rules.
    static FUNCTIONS: OnceCell<Context<'static, 'static>> = const { OnceCell::new() };
}

impl Rule {
    /// Compiles a rule.
    ///
    /// # Errors
    /// If it is too long, malformed, or not well-typed; the texts begin as upstream's do.
    pub(crate) fn compile(text: &str) -> Result<Self, Fault> {
        let limit = |message: String| Fault { message, is_limit: true };
        if text.len() > MAX_RULE_BYTES {
            return Err(limit(format!("the CEL rule has more than {MAX_RULE_BYTES} bytes: shorten it")));
        }
        if operators(text) > MAX_RULE_OPERATORS {
            let message = format!("the CEL rule has more than {MAX_RULE_OPERATORS} operators, dots and brackets");
            return Err(limit(format!("{message}: state it with fewer")));
        }
        let expression = Parser::new().parse(text).map_err(|errors| parse_error(text, &errors.to_string()))?;
        match check::check(&expression) {
            Ok(true) => {}
            Ok(false) => return Err("cel expressions must have type Bool".to_owned().into()),
            Err(reason) => return Err(format!("ERROR: <input>:1:1: {reason}\n | {text}\n | ^").into()),
        }
        check_patterns(&expression)?;
        if cost::depth(&expression) > MAX_RULE_DEPTH {
            let message = format!("the CEL rule nests more than {MAX_RULE_DEPTH} macros: state it with fewer");
            return Err(limit(message));
        }
        Ok(Self { text: text.to_owned(), expression })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the rule; a rule that fails does not hold.
    ///
    /// # Errors
    /// If it could take more steps than are left.
    pub(crate) fn holds(&self, input: &RuleInput, meter: &Meter<'_>) -> Result<bool, Halt<'static>> {
        let steps = cost::steps(&self.expression, input.size);
        meter.rule_steps(steps.min(MAX_RULE_STEPS + 1))?;
        let result = FUNCTIONS.with(|functions| {
            let mut context = functions.get_or_init(functions_of_rules).new_inner_scope();
            context.add_variable_from_value("properties", input.properties.clone());
            context.resolve(&self.expression)
        });
        Ok(matches!(result, Ok(Value::Bool(true))))
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Rule").field(&self.text).finish()
    }
}

/// Refuses patterns that cannot be bounded; one that is malformed fails when it is looked for, as upstream.
fn check_patterns(rule: &Expression) -> Result<(), Fault> {
    let limit = |message: String| Err(Fault { message, is_limit: true });
    for pattern in cost::patterns(rule) {
        let Some(pattern) = pattern else {
            return limit("the CEL rule matches a pattern that is not a literal: write it into the rule".to_owned());
        };
        let built = regex::RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build();
        if let Err(regex::Error::CompiledTooBig(_)) = built {
            let message = format!("the pattern `{pattern}` of the CEL rule takes more than {MAX_PATTERN_BYTES} bytes");
            return limit(format!("{message}: repeat less"));
        }
    }
    Ok(())
}

/// Counts what can nest expressions; in texts it counts too, which only errs on the safe side.
fn operators(text: &str) -> usize {
    text.bytes().filter(|byte| b"+-*/%.[({!?<>=&|".contains(byte)).count() + text.matches("in").count()
}

fn parse_error(text: &str, errors: &str) -> String {
    if errors.starts_with("ERROR: <input>:") {
        errors.to_owned()
    } else {
        format!("ERROR: <input>:1:0: Syntax error: {errors}\n | {text}\n | ^")
    }
}

fn functions_of_rules() -> Context<'static, 'static> {
    let mut context = Context::default();
    let added = context.add_function("semver_compare", semver_compare);
    added.expect("the standard functions have none of this name");
    context
}

/// Compares two versions, read tolerantly, without build metadata.
fn semver_compare(one: Value, other: Value) -> Result<i64, ExecutionError> {
    let [one, other] = [one, other].map(|value| match value {
        Value::String(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        other => format!("{other:?}"),
    });
    let [Some(version), Some(other_version)] = [&one, &other].map(|text| strict_version(text)) else {
        return Err(unreadable(&one, &other));
    };
    match (Version::parse(&version), Version::parse(&other_version)) {
        (Ok(version), Ok(other)) => Ok(version.precedence(&other) as i64),
        _ => Err(unreadable(&one, &other)),
    }
}

fn unreadable(one: &str, other: &str) -> ExecutionError {
    ExecutionError::function_error("semver_compare", format!("unable to parse '{one}' or '{other}' to semver format"))
}

impl RuleInput {
    /// Converts properties. A value that is not JSON counts as null.
    pub(crate) fn new(properties: &[RawProperty<'_>]) -> Self {
        let mut size = cost::Size { items: properties.len() as u64, largest: 0, weight: 1 };
        let values = properties.iter().map(|property| {
            let value = serde_json::from_slice(&property.value).unwrap_or(serde_json::Value::Null);
            let weight = 1 + cost::Size::of_text(property.type_name.len()).weight + weight(&value);
            size.largest = size.largest.max(weight);
            size.weight += weight;
            map([("type".to_owned(), text(property.type_name.to_string())), ("value".to_owned(), convert(value))])
        });
        let values = values.collect();
        Self { properties: Value::List(Arc::new(values)), size }
    }
}

/// Steps to look at all of a value, as [`cost::Size`] counts them.
fn weight(value: &serde_json::Value) -> u64 {
    let text = |text: &str| cost::Size::of_text(text.len()).weight;
    match value {
        serde_json::Value::String(string) => text(string),
        serde_json::Value::Array(list) => 1 + list.iter().map(weight).sum::<u64>(),
        serde_json::Value::Object(object) => {
            1 + object.iter().map(|(key, value)| text(key) + weight(value)).sum::<u64>()
        }
        _ => 1,
    }
}

/// Converts JSON as upstream does: every number is a double.
fn convert(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(is_true) => Value::Bool(is_true),
        serde_json::Value::Number(number) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        serde_json::Value::String(string) => text(string),
        serde_json::Value::Array(list) => Value::List(Arc::new(list.into_iter().map(convert).collect())),
        serde_json::Value::Object(object) => map(object.into_iter().map(|(key, value)| (key, convert(value)))),
    }
}

fn text(text: String) -> Value {
    Value::String(Arc::new(text))
}

fn map(entries: impl IntoIterator<Item = (String, Value)>) -> Value {
    let entries = entries.into_iter().map(|(key, value)| (Key::String(Arc::new(key)), value));
    Value::Map(Map { map: Arc::new(entries.collect::<HashMap<_, _>>()) })
}
