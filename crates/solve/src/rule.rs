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

use crate::budget::SolveBudget;
use crate::error::{ParseRequirementError, RequirementError, SolveError};
use crate::property::RawProperty;
use sketch::Sketch;

pub use input::MAX_RULE_VALUES;
pub(crate) use input::RuleInput;

/// Maximum size of a CEL rule, in bytes.
pub const MAX_RULE_BYTES: usize = 4_096;

/// Maximum number of characters in a CEL rule that can nest expressions, such as operators, dots
/// and brackets.
//
// The parser, the type checker and the interpreter recurse as deep: more could overflow `RULE_STACK_BYTES`.
pub const MAX_RULE_OPERATORS: usize = 400;

/// Size of the stack that a rule may take, in bytes.
//
// Threads of the server have 2 MiB. Without optimization, a rule takes more than that, and in a release
// less than 1 MiB.
const RULE_STACK_BYTES: usize = if cfg!(debug_assertions) {
    16 * 1024 * 1024
} else {
    1024 * 1024
};

/// Maximum depth of nested macros in a CEL rule.
pub const MAX_RULE_DEPTH: usize = 3;

/// Maximum size of a compiled pattern of `matches`, in bytes. Matching takes time in proportion to it.
pub const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// A compiled rule.
pub(crate) struct Rule {
    text: String,
    expression: Expression,
    /// Number of steps that it takes to estimate the steps of an evaluation.
    bound_steps: u64,
    sketch: Sketch,
}

/// Returns the error of a rule that exceeds a limit.
fn limit(message: String) -> ParseRequirementError {
    ParseRequirementError::Invalid(RequirementError {
        message,
        is_limit: true,
    })
}

/// Runs a function on a stack that has room for a rule.
fn with_rule_stack<T>(function: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RULE_STACK_BYTES, RULE_STACK_BYTES, function)
}

thread_local! {
    /// The functions of rules. Building the context takes longer than evaluating most rules.
    static FUNCTIONS: OnceCell<Context<'static, 'static>> = const { OnceCell::new() };
}

impl Rule {
    /// Compiles a rule.
    ///
    /// # Errors
    /// The rule is too long, malformed, or not well-typed. Messages begin like upstream's.
    pub(crate) fn compile(
        text: &str,
        budget: &SolveBudget<'_>,
    ) -> Result<Self, ParseRequirementError> {
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
        budget.compilation_steps(cost::parse_steps(text))?;
        with_rule_stack(|| Self::parse(text, budget))
    }

    /// Parses and checks a rule.
    fn parse(text: &str, budget: &SolveBudget<'_>) -> Result<Self, ParseRequirementError> {
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
        check_patterns(&expression, budget)?;
        if cost::depth(&expression) > MAX_RULE_DEPTH {
            let message = format!(
                "the CEL rule nests more than {MAX_RULE_DEPTH} macros: state it with fewer"
            );
            return Err(limit(message));
        }
        Ok(Self {
            text: text.to_owned(),
            bound_steps: cost::bound_steps(&expression),
            sketch: Sketch::from_rule(&expression),
            expression,
        })
    }

    /// Returns the text of the rule.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the rule holds, or `None` if only an evaluation can decide it.
    ///
    /// # Errors
    /// The budget is exceeded.
    pub(crate) fn sketch(
        &self,
        properties: &[RawProperty<'_>],
        budget: &SolveBudget<'_>,
    ) -> Result<Option<bool>, SolveError<'static>> {
        let comparisons = self.sketch.comparisons();
        let bytes: usize = properties.iter().map(|property| property.value.len()).sum();

        budget.draw(Step::Posting, comparisons * properties.len())?;
        budget.draw(Step::JsonByte, comparisons * bytes)?;
        Ok(self.sketch.holds(properties))
    }

    /// Evaluates the rule. A rule that fails does not hold.
    ///
    /// # Errors
    /// The evaluation could exceed the budget.
    pub(crate) fn holds(
        &self,
        input: &RuleInput,
        budget: &SolveBudget<'_>,
    ) -> Result<bool, SolveError<'static>> {
        // The interpreter cannot be interrupted: the steps are estimated and counted in advance.
        budget.compilation_steps(self.bound_steps)?;
        budget.rule_steps(cost::steps(&self.expression, input.size()))?;
        let result = FUNCTIONS.with(|functions| {
            let functions = functions.get_or_init(rule_functions);
            with_rule_stack(|| evaluate(functions, &self.expression, input))
        });
        Ok(matches!(result, Ok(Value::Bool(true))))
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Rule").field(&self.text).finish()
    }
}

/// Evaluates an expression. The interpreter makes deep copies of lists and maps that are bound to a
/// variable or put into others; [`cost`] counts them.
fn evaluate<'f>(
    functions: &'f Context<'f, 'f>,
    expression: &Expression,
    input: &'f RuleInput,
) -> Result<Value, ExecutionError> {
    let mut context = functions.new_inner_scope();
    context.set_variable_resolver(input);
    context.resolve(expression)
}

/// Rejects patterns whose cost cannot be bounded. A malformed pattern fails during the evaluation,
/// like upstream.
fn check_patterns(
    rule: &Expression,
    budget: &SolveBudget<'_>,
) -> Result<(), ParseRequirementError> {
    for pattern in cost::patterns(rule) {
        let Some(pattern) = pattern else {
            return Err(limit(
                "the CEL rule matches a pattern that is not a literal: write it into the rule"
                    .to_owned(),
            ));
        };
        budget.compilation_steps(cost::pattern_steps(pattern))?;
        let built = regex::RegexBuilder::new(pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .build();
        if let Err(regex::Error::CompiledTooBig(_)) = built {
            let message = format!(
                "the pattern `{pattern}` of the CEL rule takes more than {MAX_PATTERN_BYTES} bytes"
            );
            return Err(limit(format!("{message}: repeat less")));
        }
    }
    Ok(())
}

/// Counts the characters that can nest expressions. It includes those in strings, which is only stricter.
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

fn rule_functions() -> Context<'static, 'static> {
    let mut context = Context::default();
    let added = context.add_function("semver_compare", semver_compare);
    added.expect("the standard functions have none of this name");
    context
}

/// Compares two versions without their build metadata. They are parsed tolerantly.
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
