//! A sketch of a rule decides most bundles without the interpreter: by the types of properties, and
//! by strings that do not occur in them.
//!
//! It has three results: the rule holds, it does not hold, or only an evaluation can decide. Like in
//! CEL, `&&`, `||`, `exists` and `all` absorb errors of operands that do not matter.

use cel::common::ast::{Expr, IdedExpr, LiteralValue};

use crate::property::RawProperty;

/// The part of a rule that can be decided without evaluating it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sketch {
    /// Only an evaluation can decide.
    Unknown,
    /// `true` or `false`.
    Constant(bool),
    /// `!part`.
    Not(Box<Sketch>),
    /// `part && part`.
    And(Vec<Sketch>),
    /// `part || part`.
    Or(Vec<Sketch>),
    /// `properties.exists(p, condition)`.
    Exists(Box<Sketch>),
    /// `properties.all(p, condition)`.
    All(Box<Sketch>),
    /// `p.type == 'text'`.
    IsOfType(String),
    /// `p.value.field == 'text'`: `false` if the value has no such string. The text is in quotes as
    /// in JSON.
    HasString(String),
}

impl Sketch {
    pub(super) fn from_rule(rule: &IdedExpr) -> Self {
        Self::new(rule, None)
    }

    /// Sketches an expression. `variable` is the property variable of the surrounding macro.
    fn new(expr: &IdedExpr, variable: Option<&str>) -> Self {
        match &expr.expr {
            Expr::Literal(LiteralValue::Boolean(value)) => Self::Constant(*value.inner()),
            Expr::Comprehension(_) if variable.is_none() => Self::from_macro(expr),
            Expr::Call(call) => {
                let parts = || call.args.iter().map(|part| Self::new(part, variable));
                match (&*call.func_name, &call.args[..]) {
                    ("_&&_", _) => Self::And(parts().collect()),
                    ("_||_", _) => Self::Or(parts().collect()),
                    ("!_", [part]) => Self::Not(Box::new(Self::new(part, variable))),
                    ("_==_", [one, other]) => Self::from_comparison(one, other, variable),
                    ("_!=_", [one, other]) => {
                        Self::Not(Box::new(Self::from_comparison(one, other, variable)))
                    }
                    _ => Self::Unknown,
                }
            }
            _ => Self::Unknown,
        }
    }

    /// Sketches `properties.exists(variable, condition)` and `properties.all(variable, condition)`.
    fn from_macro(expr: &IdedExpr) -> Self {
        let Expr::Comprehension(body) = &expr.expr else {
            return Self::Unknown;
        };
        let is_result =
            |expr: &IdedExpr| matches!(&expr.expr, Expr::Ident(name) if *name == body.accu_var);
        let is_over_properties =
            matches!(&body.iter_range.expr, Expr::Ident(name) if name == "properties");
        let (Expr::Literal(LiteralValue::Boolean(initial)), Expr::Call(step)) =
            (&body.accu_init.expr, &body.loop_step.expr)
        else {
            return Self::Unknown;
        };
        let [result, condition] = &step.args[..] else {
            return Self::Unknown;
        };
        if !is_over_properties || !is_result(&body.result) || !is_result(result) {
            return Self::Unknown;
        }
        let condition = || Box::new(Self::new(condition, Some(&body.iter_var)));
        match (&*step.func_name, *initial.inner()) {
            ("_||_", false) => Self::Exists(condition()),
            ("_&&_", true) => Self::All(condition()),
            _ => Self::Unknown,
        }
    }

    fn from_comparison(one: &IdedExpr, other: &IdedExpr, variable: Option<&str>) -> Self {
        let Some(variable) = variable else {
            return Self::Unknown;
        };
        let (part, text) = match (&one.expr, &other.expr) {
            (_, Expr::Literal(LiteralValue::String(text))) => (one, text.inner()),
            (Expr::Literal(LiteralValue::String(text)), _) => (other, text.inner()),
            _ => return Self::Unknown,
        };
        if is_field(part, "type", variable) {
            return Self::IsOfType(text.to_owned());
        }
        // Every JSON encoder writes these characters without an escape.
        let is_plain = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b" -._/:@+,".contains(&byte));
        if is_plain && is_in_value(part, variable) {
            return Self::HasString(format!("\"{text}\""));
        }
        Self::Unknown
    }

    /// Returns the number of comparisons. Each one looks at all properties and at all bytes of their
    /// values.
    pub(super) fn comparisons(&self) -> usize {
        match self {
            Self::Unknown | Self::Constant(_) => 0,
            Self::IsOfType(_) | Self::HasString(_) => 1,
            Self::Not(part) | Self::Exists(part) | Self::All(part) => part.comparisons(),
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::comparisons).sum(),
        }
    }

    /// Returns whether the rule holds for these properties; `None` if only an evaluation can decide.
    pub(super) fn holds(&self, properties: &[RawProperty<'_>]) -> Option<bool> {
        self.decide(properties, None)
    }

    fn decide(
        &self,
        properties: &[RawProperty<'_>],
        property: Option<&RawProperty<'_>>,
    ) -> Option<bool> {
        let decide = |part: &Self| part.decide(properties, property);
        match self {
            Self::Unknown => None,
            Self::Constant(value) => Some(*value),
            Self::Not(part) => decide(part).map(|holds| !holds),
            Self::And(parts) => all(parts.iter().map(decide)),
            Self::Or(parts) => any(parts.iter().map(decide)),
            Self::Exists(condition) => any(properties
                .iter()
                .map(|one| condition.decide(properties, Some(one)))),
            Self::All(condition) => all(properties
                .iter()
                .map(|one| condition.decide(properties, Some(one)))),
            Self::IsOfType(type_name) => property.map(|property| property.type_name == **type_name),
            Self::HasString(text) => property
                .filter(|property| lacks(&property.value, text))
                .map(|_| false),
        }
    }
}

/// Returns the conjunction in three-valued logic, like `&&` and `all`.
fn all(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    any(parts.map(|part| part.map(|holds| !holds))).map(|holds| !holds)
}

/// Returns the disjunction in three-valued logic, like `||` and `exists`.
fn any(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = Some(false);
    for part in parts {
        match part {
            Some(true) => return Some(true),
            Some(false) => {}
            None => known = None,
        }
    }
    known
}

/// Returns whether JSON certainly lacks this quoted string.
fn lacks(json: &[u8], quoted: &str) -> bool {
    // With an escape, the string may be there in another spelling.
    std::str::from_utf8(json).is_ok_and(|json| !json.contains('\\') && !json.contains(quoted))
}

/// Returns whether an expression is `variable.value` or a field of it, at any depth.
fn is_in_value(part: &IdedExpr, variable: &str) -> bool {
    match &part.expr {
        Expr::Select(select) if !select.test => {
            is_field(part, "value", variable) || is_in_value(&select.operand, variable)
        }
        _ => false,
    }
}

/// Returns whether an expression is `variable.field`.
fn is_field(expr: &IdedExpr, field: &str, variable: &str) -> bool {
    match &expr.expr {
        Expr::Select(select) => {
            let is_variable = matches!(&select.operand.expr, Expr::Ident(name) if name == variable);
            !select.test && select.field == field && is_variable
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use cel::parser::Parser;

    use super::Sketch;
    use crate::property::RawProperty;

    fn property(type_name: &'static str, value: &'static str) -> RawProperty<'static> {
        RawProperty {
            type_name: type_name.into(),
            value: value.as_bytes().into(),
        }
    }

    fn decided(rule: &str) -> Option<bool> {
        let properties = [
            property("olm.package", r#"{"packageName":"fig","version":"1.0.0"}"#),
            property("olm.label", r#"{"label":"sw\u0065et"}"#),
            property("certified", "null"),
        ];
        Sketch::from_rule(&Parser::new().parse(rule).unwrap()).holds(&properties)
    }

    #[test]
    fn rules_over_types_and_missing_strings_are_decided() {
        for (rule, holds) in [
            ("true", true),
            ("!true", false),
            ("properties.exists(p, p.type == 'certified')", true),
            ("properties.exists(p, 'missing' == p.type)", false),
            ("properties.all(p, p.type != 'olm.gvk')", true),
            ("properties.all(p, p.type != 'certified')", false),
            (
                "properties.exists(p, p.type == 'olm.package' && p.value.packageName == 'pear')",
                false,
            ),
            (
                "properties.exists(p, p.type == 'missing' && semver_compare(p.value.version, '1.0.0') > 0)",
                false,
            ),
            (
                "properties.exists(p, p.type == 'missing') || properties.exists(q, q.type == 'certified')",
                true,
            ),
            (
                "properties.size() > 7 && properties.exists(p, p.type == 'missing')",
                false,
            ),
            (
                "properties.size() > 7 || properties.exists(p, p.type == 'certified')",
                true,
            ),
        ] {
            assert_eq!(decided(rule), Some(holds), "{rule}");
        }
    }

    #[test]
    fn what_only_an_evaluation_can_tell_is_not_decided() {
        for rule in [
            "properties.size() == 3",
            "1 == 1",
            "properties.exists(p, p.type == 'olm.package' && p.value.packageName == 'fig')",
            "properties.exists(p, p.type == 'olm.label' && p.value.label == 'sweet')",
            "properties.exists(p, p.value == 'ü')",
            "properties.exists(p, p.value == 'a\"b')",
            "properties.exists(p, has(p.value.label))",
            "properties.exists_one(p, p.type == 'certified')",
            "properties.filter(p, p.type == 'certified').size() == 1",
            "['certified'].exists(p, p == 'certified')",
            "properties.exists(p, properties.exists(q, q.type == p.type))",
            "properties.exists(p, p.type == 'missing') || properties.size() == 3",
        ] {
            assert_eq!(decided(rule), None, "{rule}");
        }
    }
}
