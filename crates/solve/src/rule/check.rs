//! Type checker of CEL rules. Upstream rejects rules that are not well-typed, and the interpreter has
//! no type checker.

use std::fmt;

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, MapExpr, SelectExpr,
};

/// A type of CEL.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Type {
    /// `dyn`: known only when the rule is evaluated.
    Any,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Null,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    /// The type of types.
    Meta,
    Timestamp,
    Duration,
}

/// Names of types that are values in rules.
const TYPE_NAMES: [&str; 10] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
];

/// Accessors of timestamps. The first four exist for durations too.
const TIME_PARTS: [&str; 10] = [
    "getHours",
    "getMinutes",
    "getSeconds",
    "getMilliseconds",
    "getFullYear",
    "getMonth",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
];

/// Variables in scope, innermost last.
type Scope = Vec<(String, Type)>;

/// Returns whether the type of a rule is `bool`.
///
/// # Errors
/// The rule is not well-typed.
pub(super) fn check(rule: &IdedExpr) -> Result<bool, String> {
    let properties = list(Type::Map(Box::new(Type::String), Box::new(Type::Any)));
    let mut scope = vec![("properties".to_owned(), properties)];
    Ok(type_of(rule, &mut scope)? == Type::Bool)
}

fn list(item: Type) -> Type {
    Type::List(Box::new(item))
}

fn type_of(expr: &IdedExpr, scope: &mut Scope) -> Result<Type, String> {
    match &expr.expr {
        Expr::Literal(literal) => Ok(literal_type(literal)),
        Expr::Ident(name) => ident(name, scope),
        Expr::Select(select) => select_type(select, scope),
        Expr::List(items) if items.optional_indices.is_empty() => {
            let items = items.elements.iter().map(|item| type_of(item, scope));
            Ok(list(join_all(items.collect::<Result<_, _>>()?)))
        }
        Expr::List(_) => Err("unsupported syntax '?'".to_owned()),
        Expr::Map(entries) => map_type(entries, scope),
        Expr::Call(call) => call_type(call, scope),
        Expr::Comprehension(comprehension) => comprehension_type(comprehension, scope),
        Expr::Struct(expr) => Err(format!(
            "undeclared reference to '{}' (in container '')",
            expr.type_name
        )),
        Expr::Unspecified => Err("Syntax error: an expression is missing".to_owned()),
    }
}

fn literal_type(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::String,
        LiteralValue::UInt(_) => Type::Uint,
    }
}

fn ident(name: &str, scope: &Scope) -> Result<Type, String> {
    let variable = scope
        .iter()
        .rfind(|(variable, _)| variable == name)
        .map(|(_, found)| found.clone());
    let type_name = TYPE_NAMES.contains(&name).then_some(Type::Meta);
    variable.or(type_name).ok_or_else(|| undeclared(name))
}

fn undeclared(name: &str) -> String {
    format!("undeclared reference to '{name}' (in container '')")
}

fn select_type(select: &SelectExpr, scope: &mut Scope) -> Result<Type, String> {
    let found = match type_of(&select.operand, scope)? {
        Type::Map(key, value) if matches!(*key, Type::String | Type::Any) => *value,
        Type::Any => Type::Any,
        other => return Err(format!("type '{other}' does not support field selection")),
    };
    Ok(if select.test { Type::Bool } else { found })
}

fn map_type(map: &MapExpr, scope: &mut Scope) -> Result<Type, String> {
    let mut keys = Vec::new();
    let mut values = Vec::new();
    for entry in &map.entries {
        match &entry.expr {
            EntryExpr::MapEntry(entry) if !entry.optional => {
                keys.push(type_of(&entry.key, scope)?);
                values.push(type_of(&entry.value, scope)?);
            }
            _ => return Err("unsupported syntax '?'".to_owned()),
        }
    }
    Ok(Type::Map(
        Box::new(join_all(keys)),
        Box::new(join_all(values)),
    ))
}

fn comprehension_type(
    comprehension: &ComprehensionExpr,
    scope: &mut Scope,
) -> Result<Type, String> {
    let item = match type_of(&comprehension.iter_range, scope)? {
        Type::List(item) => *item,
        Type::Map(key, _) => *key,
        Type::Any => Type::Any,
        other => {
            return Err(format!(
                "expression of type '{other}' cannot be range of a comprehension"
            ));
        }
    };
    if comprehension.iter_var2.is_some() {
        return Err("unsupported macro with two variables".to_owned());
    }
    let initial = type_of(&comprehension.accu_init, scope)?;
    let depth = scope.len();
    scope.push((comprehension.accu_var.clone(), initial.clone()));
    scope.push((comprehension.iter_var.clone(), item));
    let condition = type_of(&comprehension.loop_cond, scope)?;
    expect(&condition, &Type::Bool, "loop condition")?;
    let step = type_of(&comprehension.loop_step, scope)?;
    expect(&step, &initial, "loop step")?;
    scope.truncate(depth);
    scope.push((
        comprehension.accu_var.clone(),
        if initial == list(Type::Any) {
            step
        } else {
            initial
        },
    ));
    let result = type_of(&comprehension.result, scope);
    scope.truncate(depth);
    result
}

fn expect(found: &Type, wanted: &Type, what: &str) -> Result<(), String> {
    if agree(found, wanted) {
        Ok(())
    } else {
        Err(format!(
            "expected type of {what} '{wanted}' but found '{found}'"
        ))
    }
}

fn call_type(call: &CallExpr, scope: &mut Scope) -> Result<Type, String> {
    let name = &*call.func_name;
    let target = call
        .target
        .as_deref()
        .map(|target| type_of(target, scope))
        .transpose()?;
    let args = call
        .args
        .iter()
        .map(|argument| type_of(argument, scope))
        .collect::<Result<Vec<_>, _>>()?;
    let found = match &target {
        Some(target) => member_type(name, target, &args),
        None => operator_type(name, &args).or_else(|| function_type(name, &args)),
    };
    found.unwrap_or_else(|| {
        let types = |types: &[Type]| {
            types
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let applied = match &target {
            Some(target) => format!("{target}.({})", types(&args)),
            None => format!("({})", types(&args)),
        };
        Err(format!(
            "found no matching overload for '{name}' applied to '{applied}'"
        ))
    })
}

/// Result type of a call. `None` means that there is no overload for these types.
type Overload = Option<Result<Type, String>>;

fn operator_type(name: &str, args: &[Type]) -> Overload {
    let found = match (name, args) {
        ("_&&_" | "_||_", args) => args
            .iter()
            .all(|arg| agree(arg, &Type::Bool))
            .then_some(Type::Bool),
        ("!_" | "@not_strictly_false", [arg]) => agree(arg, &Type::Bool).then_some(Type::Bool),
        ("_?_:_", [condition, one, other]) => {
            let well_typed = agree(condition, &Type::Bool) && agree(one, other);
            well_typed.then(|| join(one.clone(), other.clone()))
        }
        ("_==_" | "_!=_", [one, other]) => agree(one, other).then_some(Type::Bool),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [one, other]) => {
            (agree(one, other) && is_ordered(one) && is_ordered(other)).then_some(Type::Bool)
        }
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [one, other]) => arithmetic(name, one, other),
        ("-_", [arg]) => [Type::Int, Type::Double]
            .iter()
            .find(|&one| agree(one, arg))
            .map(|_| arg.clone()),
        ("_[_]", [Type::List(item), at]) => agree(at, &Type::Int).then(|| (**item).clone()),
        ("_[_]", [Type::Map(key, value), at]) => agree(key, at).then(|| (**value).clone()),
        ("_[_]", [Type::Any, _]) => Some(Type::Any),
        ("@in", [item, Type::List(items)]) => agree(item, items).then_some(Type::Bool),
        ("@in", [item, Type::Map(key, _)]) => agree(item, key).then_some(Type::Bool),
        ("@in", [_, Type::Any]) => Some(Type::Bool),
        _ => None,
    };
    found.map(Ok)
}

fn is_ordered(one: &Type) -> bool {
    !matches!(one, Type::Null | Type::List(_) | Type::Map(..) | Type::Meta)
}

fn arithmetic(name: &str, one: &Type, other: &Type) -> Option<Type> {
    let time = match (name, one, other) {
        ("_+_" | "_-_", Type::Timestamp, Type::Duration)
        | ("_+_", Type::Duration, Type::Timestamp) => Some(Type::Timestamp),
        ("_-_", Type::Timestamp, Type::Timestamp) => Some(Type::Duration),
        _ => None,
    };
    if time.is_some() {
        return time;
    }
    let has_overload = |one: &Type| match one {
        Type::Any | Type::Int | Type::Uint => true,
        Type::Double => name != "_%_",
        Type::String | Type::Bytes | Type::List(_) => name == "_+_",
        Type::Duration => name == "_+_" || name == "_-_",
        _ => false,
    };
    let agrees = agree(one, other) && has_overload(one) && has_overload(other);
    agrees.then(|| join(one.clone(), other.clone()))
}

fn function_type(name: &str, args: &[Type]) -> Overload {
    use Type::{Any, Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    let (accepted, result): (&[Type], Type) = match name {
        "size" => {
            return one_of(
                args,
                &[
                    String,
                    Bytes,
                    list(Any),
                    Type::Map(Box::new(Any), Box::new(Any)),
                ],
                Int,
            );
        }
        "type" => (&[Any], Type::Meta),
        "dyn" => (&[Any], Any),
        "int" => (&[Int, Uint, Double, String, Timestamp], Int),
        "uint" => (&[Uint, Int, Double, String], Uint),
        "double" => (&[Double, Int, Uint, String], Double),
        "bool" => (&[Bool, String], Bool),
        "string" => (
            &[String, Bool, Int, Uint, Double, Bytes, Timestamp, Duration],
            String,
        ),
        "bytes" => (&[Bytes, String], Bytes),
        "timestamp" => (&[Timestamp, String, Int], Timestamp),
        "duration" => (&[Duration, String], Duration),
        "matches" => return all_agree(args, &[String, String]).then_some(Ok(Bool)),
        "semver_compare" => return (args.len() == 2).then_some(Ok(Int)),
        _ => return Some(Err(undeclared(name))),
    };
    one_of(args, accepted, result)
}

/// Returns the result type of a function with one argument.
fn one_of(args: &[Type], accepted: &[Type], result: Type) -> Overload {
    let [arg] = args else { return None };
    accepted
        .iter()
        .any(|one| agree(one, arg))
        .then_some(Ok(result))
}

fn all_agree(args: &[Type], wanted: &[Type]) -> bool {
    args.len() == wanted.len()
        && args
            .iter()
            .zip(wanted)
            .all(|(arg, wanted)| agree(arg, wanted))
}

fn member_type(name: &str, target: &Type, args: &[Type]) -> Overload {
    let is_duration = agree(target, &Type::Duration);
    match name {
        "size" => function_type("size", std::slice::from_ref(target)).filter(|_| args.is_empty()),
        "contains" | "startsWith" | "endsWith" | "matches" => {
            let well_typed = agree(target, &Type::String) && all_agree(args, &[Type::String]);
            well_typed.then_some(Ok(Type::Bool))
        }
        part if TIME_PARTS.contains(&part) => {
            let zoned = agree(target, &Type::Timestamp)
                && (args.is_empty() || all_agree(args, &[Type::String]));
            (zoned || is_duration && TIME_PARTS[..4].contains(&part) && args.is_empty())
                .then_some(Ok(Type::Int))
        }
        _ => Some(Err(undeclared(name))),
    }
}

/// Returns whether a value of one type can be used as one of the other.
fn agree(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Any, _) | (_, Type::Any) => true,
        (Type::List(one), Type::List(other)) => agree(one, other),
        (Type::Map(key, value), Type::Map(other_key, other_value)) => {
            agree(key, other_key) && agree(value, other_value)
        }
        _ => one == other,
    }
}

/// Returns the common type of two types.
fn join(one: Type, other: Type) -> Type {
    if one == other {
        one
    } else {
        join_parts(one, other)
    }
}

fn join_parts(one: Type, other: Type) -> Type {
    match (one, other) {
        (Type::List(one), Type::List(other)) => match (*one, *other) {
            // An empty list is one of anything.
            (Type::Any, item) | (item, Type::Any) => list(item),
            (one, other) => list(join(one, other)),
        },
        _ => Type::Any,
    }
}

fn join_all(types: Vec<Type>) -> Type {
    types.into_iter().reduce(join).unwrap_or(Type::Any)
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Null => f.write_str("null"),
            Self::List(item) => write!(f, "list({item})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Meta => f.write_str("type"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
        }
    }
}
