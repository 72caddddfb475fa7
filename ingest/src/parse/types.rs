//! Types as declared, as far as they can name a vendor client.

use oxc_ast::ast::{
    FormalParameters, IdentifierReference, PropertyKey, TSImportType, TSImportTypeQualifier, TSInterfaceDeclaration,
    TSLiteral, TSSignature, TSType, TSTypeAnnotation, TSTypeName, TSTypeParameterInstantiation, TSTypeQueryExprName,
};

use super::facts::{Name, Type, TypeId, TypeRoot};
use super::lower::Lower;

/// Types nest by being written so; deeper than this they name no client.
const DEEPEST: u32 = 32;

impl<'a> Lower<'_, 'a> {
    /// The type behind an annotation; `None` where it is a primitive or of no interest.
    pub(super) fn annotation(&mut self, it: Option<&TSTypeAnnotation<'a>>) -> Option<TypeId> {
        self.type_of(&it?.type_annotation)
    }

    /// A type; `None` where it is a primitive or of no interest.
    pub(super) fn type_of(&mut self, it: &TSType<'a>) -> Option<TypeId> {
        let ty = self.lower_type(it, 0);
        (ty != Type::Unknown).then(|| self.add_type(ty))
    }

    /// A type with the arguments that are given to it.
    pub(super) fn type_applied(
        &mut self,
        root: TypeRoot,
        path: Vec<Name>,
        given: &TSTypeParameterInstantiation<'a>,
    ) -> TypeId {
        let arguments = self.type_arguments(Some(given), 0);
        self.add_type(Type::Reference(root, path, arguments))
    }

    /// The type that an interface declares.
    pub(super) fn interface(&mut self, it: &TSInterfaceDeclaration<'a>) -> TypeId {
        let members = self.signatures(&it.body.body, 0);
        let mut extends = Vec::new();
        for heritage in &it.extends {
            if let Some((root, path)) = self.type_name(&heritage.type_name) {
                let arguments = self.type_arguments(heritage.type_arguments.as_deref(), 0);
                extends.push(self.add_type(Type::Reference(root, path, arguments)));
            }
        }
        self.add_type(Type::Object(members, extends))
    }

    pub(super) fn add_type(&mut self, ty: Type) -> TypeId {
        self.out.types.push(ty);
        u32::try_from(self.out.types.len() - 1).unwrap_or(u32::MAX)
    }

    fn nested(&mut self, it: &TSType<'a>, depth: u32) -> TypeId {
        let ty = self.lower_type(it, depth + 1);
        self.add_type(ty)
    }

    fn lower_type(&mut self, it: &TSType<'a>, depth: u32) -> Type {
        if depth > DEEPEST {
            return Type::Unknown;
        }
        match it {
            TSType::TSNullKeyword(_) | TSType::TSUndefinedKeyword(_) | TSType::TSVoidKeyword(_) => Type::Null,
            TSType::TSParenthesizedType(it) => self.lower_type(&it.type_annotation, depth + 1),
            TSType::TSTypeOperatorType(it) => self.lower_type(&it.type_annotation, depth + 1),
            TSType::TSArrayType(it) => Type::List(self.nested(&it.element_type, depth)),
            TSType::TSUnionType(it) => Type::Union(it.types.iter().map(|ty| self.nested(ty, depth)).collect()),
            TSType::TSIntersectionType(it) => {
                Type::Intersection(it.types.iter().map(|ty| self.nested(ty, depth)).collect())
            }
            TSType::TSTypeLiteral(it) => Type::Object(self.signatures(&it.members, depth), Vec::new()),
            TSType::TSFunctionType(it) => {
                let parameters = self.parameter_types(&it.params, depth);
                Type::Function(parameters, self.nested(&it.return_type.type_annotation, depth))
            }
            TSType::TSIndexedAccessType(it) => match &it.index_type {
                TSType::TSLiteralType(literal) => match &literal.literal {
                    TSLiteral::StringLiteral(key) => {
                        let object = self.nested(&it.object_type, depth);
                        Type::Indexed(object, self.name(&key.value))
                    }
                    _ => Type::Unknown,
                },
                _ => Type::Unknown,
            },
            TSType::TSTypeReference(it) => match self.type_name(&it.type_name) {
                Some((root, path)) => {
                    let mut arguments = self.type_arguments(it.type_arguments.as_deref(), depth);
                    if let (TypeRoot::Global(name), Some([_, keys])) =
                        (root, it.type_arguments.as_deref().map(|it| it.params.as_slice()))
                        && matches!(self.out.name(name), "Omit" | "Pick")
                        && let Some(keys) = self.keys_of(keys)
                    {
                        arguments[1] = self.add_type(keys);
                    }
                    Type::Reference(root, path, arguments)
                }
                None => Type::Unknown,
            },
            TSType::TSTypeQuery(it) => match &it.expr_name {
                TSTypeQueryExprName::TSImportType(import) => {
                    let (specifier, path) = self.import_type(import);
                    Type::Typeof(TypeRoot::Import(specifier), path)
                }
                TSTypeQueryExprName::IdentifierReference(name) => Type::Typeof(self.type_root(name), Vec::new()),
                TSTypeQueryExprName::QualifiedName(name) => match self.type_name(&name.left) {
                    Some((root, mut path)) => {
                        path.push(self.name(&name.right.name));
                        Type::Typeof(root, path)
                    }
                    None => Type::Unknown,
                },
                TSTypeQueryExprName::ThisExpression(_) => Type::Unknown,
            },
            TSType::TSImportType(it) => {
                let (specifier, path) = self.import_type(it);
                let arguments = self.type_arguments(it.type_arguments.as_deref(), depth);
                Type::Reference(TypeRoot::Import(specifier), path, arguments)
            }
            _ => Type::Unknown,
        }
    }

    /// The module and the names of `import("…").Name`, which is an import like any other.
    fn import_type(&mut self, it: &TSImportType<'a>) -> (Name, Vec<Name>) {
        let mut path = Vec::new();
        let mut at = it.qualifier.as_ref();
        while let Some(qualifier) = at {
            match qualifier {
                TSImportTypeQualifier::Identifier(name) => {
                    path.push(self.name(&name.name));
                    at = None;
                }
                TSImportTypeQualifier::QualifiedName(name) => {
                    path.push(self.name(&name.right.name));
                    at = Some(&name.left);
                }
            }
        }
        path.reverse();
        let specifier = self.name(&it.source.value);
        self.import_of_type(specifier, path.first().copied(), it.span);
        (specifier, path)
    }

    fn type_arguments(&mut self, it: Option<&TSTypeParameterInstantiation<'a>>, depth: u32) -> Vec<TypeId> {
        it.map(|it| it.params.iter().map(|ty| self.nested(ty, depth)).collect()).unwrap_or_default()
    }

    /// Names of members that are written down as types (`"run" | "stop"`), as an object that has them.
    fn keys_of(&mut self, it: &TSType<'a>) -> Option<Type> {
        let mut names = Vec::new();
        let mut left = vec![it];
        while let Some(it) = left.pop() {
            match it {
                TSType::TSUnionType(it) => left.extend(it.types.iter().rev()),
                TSType::TSLiteralType(it) => match &it.literal {
                    TSLiteral::StringLiteral(key) => names.push(self.name(&key.value)),
                    _ => return None,
                },
                _ => return None,
            }
        }
        let unknown = self.add_type(Type::Unknown);
        Some(Type::Object(names.into_iter().map(|name| (name, unknown)).collect(), Vec::new()))
    }

    fn signatures(&mut self, members: &[TSSignature<'a>], depth: u32) -> Vec<(Name, TypeId)> {
        let mut out = Vec::new();
        for member in members {
            match member {
                TSSignature::TSPropertySignature(it) => {
                    if let (Some(name), Some(ty)) = (type_key(&it.key), &it.type_annotation) {
                        let ty = self.nested(&ty.type_annotation, depth);
                        out.push((self.name(name), ty));
                    }
                }
                TSSignature::TSMethodSignature(it) => {
                    if let (Some(name), Some(ty)) = (type_key(&it.key), &it.return_type) {
                        let parameters = self.parameter_types(&it.params, depth);
                        let returns = self.nested(&ty.type_annotation, depth);
                        let ty = self.add_type(Type::Function(parameters, returns));
                        out.push((self.name(name), ty));
                    }
                }
                _ => {}
            }
        }
        out
    }

    /// The types of a signature's parameters; none where none of them is of interest.
    fn parameter_types(&mut self, it: &FormalParameters<'a>, depth: u32) -> Vec<TypeId> {
        let mut types = Vec::with_capacity(it.items.len());
        for parameter in &it.items {
            types.push(match &parameter.type_annotation {
                Some(ty) => self.lower_type(&ty.type_annotation, depth + 1),
                None => Type::Unknown,
            });
        }
        if types.iter().all(|ty| *ty == Type::Unknown) {
            return Vec::new();
        }
        types.into_iter().map(|ty| self.add_type(ty)).collect()
    }

    fn type_name(&mut self, it: &TSTypeName<'a>) -> Option<(TypeRoot, Vec<Name>)> {
        let mut path = Vec::new();
        let mut at = it;
        loop {
            match at {
                TSTypeName::IdentifierReference(name) => {
                    path.reverse();
                    return Some((self.type_root(name), path));
                }
                TSTypeName::QualifiedName(name) => {
                    path.push(self.name(&name.right.name));
                    at = &name.left;
                }
                TSTypeName::ThisExpression(_) => return None,
            }
        }
    }

    fn type_root(&mut self, it: &IdentifierReference<'a>) -> TypeRoot {
        match self.reference(it) {
            Some(binding) => TypeRoot::Binding(binding),
            None => TypeRoot::Global(self.name(&it.name)),
        }
    }
}

fn type_key<'k>(key: &'k PropertyKey<'_>) -> Option<&'k str> {
    match key {
        PropertyKey::StaticIdentifier(it) => Some(&it.name),
        PropertyKey::StringLiteral(it) => Some(&it.value),
        _ => None,
    }
}
