//! The fields of every object type, generated from `schema.graphql` by `build.rs`: one enum per
//! type, and the facts that the directives `@cost`, `@listSize` and `@cacheScope` state about each
//! field.

/// An enum of the fields of one object type.
pub(crate) trait ObjectField: Copy {
    /// Name of the type.
    const TYPE_NAME: &'static str;

    /// Returns the field; `None` if it is a field of another type.
    fn from_id(id: FieldId) -> Option<Self>;
}

/// Facts about a field, from its directives in the schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldFacts {
    /// `@cost`: work of one execution besides the objects that it returns, in objects.
    pub(crate) weight: u64,
    /// `@listSize`: length of the list.
    pub(crate) list_size: ListSize,
    /// `@cacheScope`: catalogs that the value depends on.
    pub(crate) scope: FieldScope,
    /// True if the value is raw JSON, whose size the cost does not reflect.
    pub(crate) is_json: bool,
}

/// Length of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListSize {
    /// Length to assume (`assumedSize`).
    Assumed(u64),
    /// Length that an argument limits (`slicingArguments`).
    Sliced(&'static str),
    /// Size of the page that the arguments of the parent field select (`sizedFields`).
    Page,
}

/// Catalogs that the value of a field depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldScope {
    /// The catalog of the parent object.
    Parent,
    /// The catalogs that an argument names, or a member of it at a path.
    Argument(&'static str, &'static [&'static str]),
    /// Every catalog, and which ones there are.
    EveryCatalog,
    /// The catalog of the parent object, with metadata that its digest does not cover.
    Metadata,
    /// The build and the flags of the server, and no catalog.
    Server,
    /// More than the catalogs served now, such as former contents.
    Volatile,
}

impl FieldFacts {
    /// The facts of a field without directives.
    const DEFAULT: Self = Self {
        weight: 0,
        list_size: ListSize::Assumed(10),
        scope: FieldScope::Parent,
        is_json: false,
    };
}

include!(concat!(env!("OUT_DIR"), "/fields.rs"));
