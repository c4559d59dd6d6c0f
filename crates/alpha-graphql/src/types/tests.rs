//! Types that are inferred from the blobs of small catalogs. This module knows neither GraphQL nor
//! responses.

use super::*;

fn types(lines: &str) -> CatalogTypes {
    CatalogTypes::infer(&testing::fixture::catalog_of(lines), &Work::unlimited()).unwrap()
}

/// The fields of a type, as they stand in a schema.
fn described(fields: &Fields) -> String {
    let field = |(name, field): (&String, &TypeField)| match &field.kind {
        FieldKind::Scalar(scalar) => format!("{name}:{}", scalar.name()),
        FieldKind::List(scalar) => format!("{name}:[{}]", scalar.name()),
        FieldKind::Objects {
            name: ty,
            fields: nested,
        } => format!("{name}:[{ty}{{{}}}]", described(nested)),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_first_value_of_a_field_says_its_type() {
    for (value, expected) in [
        ("\"a\"", "String"),
        ("true", "Boolean"),
        ("1", "Int"),
        ("2.0", "Int"),
        ("9223372036854775807", "Float"),
        ("-9223372036854775808", "Int"),
        ("1e300", "Float"),
        ("1.5", "Float"),
        ("null", "String"),
        ("{\"a\":1}", "String"),
        ("[]", "[String]"),
        ("[null]", "[String]"),
        ("[null,1]", "[Int]"),
        ("[1,2.5]", "[Int]"),
        ("[1,\"a\"]", "[String]"),
        ("[[1]]", "[String]"),
        ("[{}]", "[String]"),
    ] {
        let types = types(&format!(
            "{{\"schema\":\"s\",\"v\":{value}}}\n{{\"schema\":\"s\",\"v\":[true]}}\n"
        ));
        assert_eq!(
            described(&types.types["ss"].fields),
            format!("schema:String v:{expected}"),
            "{value}"
        );
    }
}

#[test]
fn a_list_with_an_object_makes_a_type_of_all_objects_that_are_seen() {
    let text = "{\"schema\":\"s\",\"v\":1}\n{\"schema\":\"s\",\"v\":[1,{\"a\":[2]},{\"b-c\":{}},{\"a\":\"x\"}]}\n\
                {\"schema\":\"s\",\"v\":[0,0,0,0,0,0,0,0,0,{\"d\":null},{\"eleventh\":1}]}\n";
    let expected = "schema:String v:[SV{a:[Int] bC:String d:String}]";
    assert_eq!(described(&types(text).types["ss"].fields), expected);
}

#[test]
fn a_field_has_all_keys_of_its_name() {
    let types = types("{\"a-b\":1,\"a.b\":2,\"schema\":\"s\"}\n{\"aB\":1,\"schema\":\"s\"}\n");
    let keys: Vec<_> = types.types["ss"].fields["aB"]
        .keys
        .iter()
        .map(|key| str::from_utf8(key).unwrap())
        .collect();
    assert_eq!(keys, ["\"a-b\"", "\"a.b\"", "\"aB\""]);
}

#[test]
fn inference_stops_when_its_work_is_exhausted() {
    let catalog = testing::fixture::catalog_of("{\"schema\":\"s\"}\n");
    assert_eq!(
        CatalogTypes::infer(&catalog, &Work::new(&|_| None)).map(drop),
        Err(InferenceError::Stopped)
    );
}

#[test]
fn a_schema_has_the_name_of_the_scalar_float_where_no_field_has_that_scalar() {
    let float = "{\"name\":\"f\",\"schema\":\"float\"}\n";
    for other in [
        "",
        "{\"schema\":\"s\",\"v\":[1,1.5]}\n",
        "{\"schema\":\"s\",\"v\":[{\"n\":2}]}\n",
    ] {
        let types = types(&format!("{float}{other}"));
        assert_eq!(
            (&*types.types["floats"].name, types.omitted),
            ("Float", Vec::new()),
            "{other}"
        );
    }
    for other in [
        "{\"schema\":\"s\",\"v\":1.5}\n",
        "{\"schema\":\"s\",\"v\":[1.5]}\n",
        "{\"schema\":\"s\",\"v\":[{\"n\":2.5}]}\n",
        "{\"schema\":\"float\",\"v\":1e300}\n",
    ] {
        let expected = OmittedType::Name {
            schema: "float".to_owned(),
            name: FLOAT.to_owned(),
        };
        assert_eq!(
            types(&format!("{float}{other}")).omitted,
            [expected],
            "{other}"
        );
    }
}

#[test]
fn omitted_types_are_reported() {
    let types = types(
        "{\"schema\":\"a.b\"}\n{\"schema\":\"a_b\"}\n{\"schema\":\"1\"}\n{\"schema\":\"query\"}\n",
    );
    let texts: Vec<_> = types.omitted.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "the schema \"1\" is not served here: it would have the name \"1s\"",
            "the schema \"a_b\" is not served here: like \"a.b\" it would have the name \"AB\"",
            "the schema \"query\" is not served here: it would have the name \"Query\"",
        ]
    );
}
