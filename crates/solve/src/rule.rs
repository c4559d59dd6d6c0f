//! CEL rules of constraints: compiled, checked for types, and evaluated within bounds.

mod check;
mod cost;
mod input;
mod sketch;

use std::cell::OnceCell;

use cel::parser::{Expression, Parser};
use cel::{Context, ExecutionError, Value};
use fbc::work::Step;
use fbc_grammar::version::{Version, strict_version};

use crate::facts::RawProperty;
use crate::meter::{Halt, Meter};
use crate::requirement::{Fault, Unreadable};
use sketch::Sketch;

pub use input::MAX_RULE_VALUES;
pub(crate) use input::RuleInput;

/// Maximum size of a CEL rule, in bytes.
pub const MAX_RULE_BYTES: usize = 4_096;

/// Maximum number of characters in a CEL rule that can nest expressions, such as operators, dots
/// and brackets. What parses, checks and evaluates rules recurses as deep.
pub const MAX_RULE_OPERATORS: usize = 400;

/// Maximum number of macros of a CEL rule inside of one another.
pub const MAX_RULE_DEPTH: usize = 3;

/// Maximum size of a compiled pattern of `matches`, in bytes: what looks for one takes time by its
/// size.
pub const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// A compiled rule.
pub(crate) struct Rule {
    text: String,
    expression: Expression,
    /// Steps to estimate how many an evaluation takes.
    bound_steps: u64,
    sketch: Sketch,
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
    pub(crate) fn compile(text: &str, meter: &Meter<'_>) -> Result<Self, Unreadable> {
        let limit = |message: String| {
            Unreadable::Fault(Fault {
                message,
                is_limit: true,
            })
        };
        if text.len() > MAX_RULE_BYTES {
            return Err(limit(format!(
                "the CEL rule has more than {MAX_RULE_BYTES} bytes: shorten it"
            )));
        }
        if operators(text) > MAX_RULE_OPERATORS {
            let message = format!(
                "the CEL rule has more than {MAX_RULE_OPERATORS} operators, dots and brackets"
            );
            return Err(limit(format!("{message}: state it with fewer")));
        }
        meter.compilation_steps(cost::parse_steps(text))?;
        let expression = Parser::new()
            .parse(text)
            .map_err(|errors| parse_error(text, &errors.to_string()))?;
        match check::check(&expression) {
            Ok(true) => {}
            Ok(false) => return Err("cel expressions must have type Bool".to_owned().into()),
            Err(reason) => {
                return Err(format!("ERROR: <input>:1:1: {reason}\n | {text}\n | ^").into());
            }
        }
        check_patterns(&expression, meter)?;
        if cost::depth(&expression) > MAX_RULE_DEPTH {
            let message = format!(
                "the CEL rule nests more than {MAX_RULE_DEPTH} macros: state it with fewer"
            );
            return Err(limit(message));
        }
        Ok(Self {
            text: text.to_owned(),
            bound_steps: cost::bound_steps(&expression),
            sketch: Sketch::of_rule(&expression),
            expression,
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the rule holds, as far as that can be told without evaluating it.
    ///
    /// # Errors
    /// If the account refuses more work.
    pub(crate) fn sketch(
        &self,
        properties: &[RawProperty<'_>],
        meter: &Meter<'_>,
    ) -> Result<Option<bool>, Halt<'static>> {
        let comparisons = self.sketch.comparisons();
        let bytes: usize = properties.iter().map(|property| property.value.len()).sum();

        meter.draw(Step::Posting, comparisons * properties.len())?;
        meter.draw(Step::JsonByte, comparisons * bytes)?;
        Ok(self.sketch.holds(properties))
    }

    /// Evaluates the rule; a rule that fails does not hold.
    ///
    /// # Errors
    /// If it could take more steps than are left.
    pub(crate) fn holds(
        &self,
        input: &RuleInput,
        meter: &Meter<'_>,
    ) -> Result<bool, Halt<'static>> {
        meter.compilation_steps(self.bound_steps)?;
        meter.rule_steps(cost::steps(&self.expression, input.size()))?;
        let result = FUNCTIONS.with(|functions| {
            evaluate(
                functions.get_or_init(functions_of_rules),
                &self.expression,
                input,
            )
        });
        Ok(matches!(result, Ok(Value::Bool(true))))
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Rule").field(&self.text).finish()
    }
}

/// Evaluates an expression. Lists and maps are copied with everything in them where the expression
/// binds them to a variable or puts them into others, which [`cost`] counts.
fn evaluate<'f>(
    functions: &'f Context<'f, 'f>,
    expression: &Expression,
    input: &'f RuleInput,
) -> Result<Value, ExecutionError> {
    let mut context = functions.new_inner_scope();
    context.set_variable_resolver(input);
    context.resolve(expression)
}

/// Refuses patterns that cannot be bounded; one that is malformed fails when it is looked for, as
/// upstream.
fn check_patterns(rule: &Expression, meter: &Meter<'_>) -> Result<(), Unreadable> {
    let limit = |message: String| {
        Err(Fault {
            message,
            is_limit: true,
        }
        .into())
    };
    for pattern in cost::patterns(rule) {
        let Some(pattern) = pattern else {
            return limit(
                "the CEL rule matches a pattern that is not a literal: write it into the rule"
                    .to_owned(),
            );
        };
        meter.compilation_steps(cost::pattern_steps(pattern))?;
        let built = regex::RegexBuilder::new(pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .build();
        if let Err(regex::Error::CompiledTooBig(_)) = built {
            let message = format!(
                "the pattern `{pattern}` of the CEL rule takes more than {MAX_PATTERN_BYTES} bytes"
            );
            return limit(format!("{message}: repeat less"));
        }
    }
    Ok(())
}

/// Counts what can nest expressions; in texts it counts too, which only errs on the safe side.
fn operators(text: &str) -> usize {
    text.bytes()
        .filter(|byte| b"+-*/%.[({!?<>=&|".contains(byte))
        .count()
        + text.matches("in").count()
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
    let [Some(version), Some(other_version)] = [&one, &other].map(|text| strict_version(text))
    else {
        return Err(unreadable(&one, &other));
    };
    match (Version::parse(&version), Version::parse(&other_version)) {
        (Ok(version), Ok(other)) => Ok(version.precedence(&other) as i64),
        _ => Err(unreadable(&one, &other)),
    }
}

fn unreadable(one: &str, other: &str) -> ExecutionError {
    ExecutionError::function_error(
        "semver_compare",
        format!("unable to parse '{one}' or '{other}' to semver format"),
    )
}
