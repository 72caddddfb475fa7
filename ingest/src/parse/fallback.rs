//! Reduced facts of what oxc cannot parse, from tree-sitter's error-tolerant tree.
//!
//! There is no scope analysis here, so a name counts only where the whole file declares it once, at module level:
//! then every mention of it is that declaration. Nothing is taken from a subtree with errors.

use std::collections::HashMap;

use sync_core::graph::Symbol;
use tree_sitter::{Node, Parser as TreeSitter};

use super::facts::{
    Argument, Binding, BindingId, CallFact, ExportFact, ExportValue, Expr, ExprId, Function, ImportFact, Name, Origin,
    ParsedFile, Parser, Property, SymbolIndex, Uses,
};
use super::nodes::{each, index};
use super::positions::Positions;
use super::text;
use crate::language::Language;
use crate::names;

/// Expressions in expressions, followed this far.
const DEEPEST: u32 = 64;

/// Reads a file; `None` where tree-sitter gives no tree. `original` is what positions are of: the same bytes, but for
/// what is blank in the source.
pub(super) fn read(language: Language, source: &str, original: &str) -> Option<ParsedFile> {
    let grammar = match language {
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        _ => tree_sitter_typescript::LANGUAGE_TSX,
    };
    let mut parser = TreeSitter::new();
    parser.set_language(&grammar.into()).ok()?;
    let tree = parser.parse(source, None)?;
    let positions = Positions::new(original);
    let out = ParsedFile {
        parser: Parser::Fallback,
        lines: positions.lines(),
        exprs: vec![Expr::Unknown],
        ..ParsedFile::default()
    };
    let mut reader = Reader {
        source,
        positions,
        out,
        names: HashMap::new(),
        declared: HashMap::new(),
        bindings: HashMap::new(),
        ordinals: HashMap::new(),
        lowered: HashMap::new(),
    };
    reader.count_declarations(tree.root_node());
    reader.declarations(tree.root_node());
    reader.walk(tree.root_node());
    Some(reader.out)
}

struct Reader<'s> {
    source: &'s str,
    positions: Positions,
    out: ParsedFile,
    names: HashMap<String, Name>,
    /// How often the file declares a name, in any scope.
    declared: HashMap<&'s str, u32>,
    /// Names of the module.
    bindings: HashMap<&'s str, BindingId>,
    ordinals: HashMap<String, u32>,
    /// Calls that were met as part of another expression, by node.
    lowered: HashMap<usize, ExprId>,
}

impl<'s> Reader<'s> {
    fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return *name;
        }
        let name = index(self.out.names.len());
        self.out.names.push(text);
        self.names.insert(text.to_owned(), name);
        name
    }

    fn add(&mut self, expr: Expr) -> ExprId {
        self.out.exprs.push(expr);
        index(self.out.exprs.len() - 1)
    }

    fn text(&self, node: Node<'_>) -> &'s str {
        self.source.get(node.byte_range()).unwrap_or("")
    }

    fn line(&self, node: Node<'_>) -> u32 {
        self.positions.line(index(node.start_byte()))
    }

    fn count_declarations(&mut self, root: Node<'_>) {
        each(root, |node, _| {
            let declares = match node.kind() {
                "shorthand_property_identifier_pattern" => true,
                "identifier" | "type_identifier" => node.parent().is_some_and(|parent| {
                    let is = |field: &str| parent.child_by_field_name(field) == Some(node);
                    match parent.kind() {
                        "variable_declarator"
                        | "function_declaration"
                        | "function_expression"
                        | "class_declaration"
                        | "class"
                        | "enum_declaration"
                        | "generator_function_declaration" => is("name"),
                        "required_parameter" | "optional_parameter" => is("pattern"),
                        "arrow_function" | "catch_clause" => is("parameter"),
                        "for_in_statement" => is("left"),
                        "pair_pattern" | "object_assignment_pattern" | "assignment_pattern" => {
                            is("value") || is("left")
                        }
                        "array_pattern" | "rest_pattern" | "import_clause" | "namespace_import" => true,
                        "import_specifier" => {
                            is("alias") || (is("name") && parent.child_by_field_name("alias").is_none())
                        }
                        _ => false,
                    }
                }),
                _ => false,
            };
            if declares {
                *self.declared.entry(self.text(node)).or_insert(0) += 1;
            }
            !node.is_error()
        });
    }

    fn bind(&mut self, node: Node<'_>, origin: Origin) -> Option<BindingId> {
        let text = self.text(node);
        if self.declared.get(text) != Some(&1) {
            return None;
        }
        let name = self.name(text);
        let line = self.line(node);
        let binding = index(self.out.bindings.len());
        self.out.bindings.push(Binding { name, origin, ty: None, writes: Vec::new(), line, symbol: None });
        self.bindings.insert(text, binding);
        Some(binding)
    }

    /// Names of the module first, since functions above use them.
    fn declarations(&mut self, root: Node<'_>) {
        let mut values = Vec::new();
        let mut cursor = root.walk();
        for statement in root.named_children(&mut cursor) {
            if statement.has_error() {
                continue;
            }
            match statement.kind() {
                "import_statement" => self.import(statement),
                "export_statement" => {
                    if let Some(declaration) = statement.child_by_field_name("declaration") {
                        self.declaration(declaration, &mut values);
                    }
                }
                _ => self.declaration(statement, &mut values),
            }
        }
        for (binding, value) in values {
            let value = self.lower(value, 0);
            self.out.bindings[binding as usize].origin = Origin::Value(value, Vec::new());
        }
        let mut cursor = root.walk();
        for statement in root.named_children(&mut cursor) {
            if statement.kind() == "export_statement" && !statement.has_error() {
                self.export(statement);
            }
        }
    }

    fn declaration<'t>(&mut self, statement: Node<'t>, values: &mut Vec<(BindingId, Node<'t>)>) {
        if !matches!(statement.kind(), "lexical_declaration" | "variable_declaration") {
            return;
        }
        let mut cursor = statement.walk();
        for declarator in statement.named_children(&mut cursor) {
            let (Some(name), Some(value)) =
                (declarator.child_by_field_name("name"), declarator.child_by_field_name("value"))
            else {
                continue;
            };
            if name.kind() == "identifier"
                && let Some(binding) = self.bind(name, Origin::Unknown)
            {
                values.push((binding, value));
            }
        }
    }

    fn specifier(&mut self, statement: Node<'_>) -> Option<Name> {
        let source = statement.child_by_field_name("source")?;
        let text = self.text(source);
        let text = text.get(1..text.len().saturating_sub(1))?;
        Some(self.name(text))
    }

    fn import(&mut self, statement: Node<'_>) {
        let Some(specifier) = self.specifier(statement) else { return };
        let line = self.line(statement);
        let mut names = Vec::new();
        let mut found = Vec::new();
        each(statement, |node, _| {
            let Some(parent) = node.parent() else { return true };
            match (node.kind(), parent.kind()) {
                ("identifier", "import_clause") => found.push((node, "default".to_owned())),
                ("identifier", "namespace_import") => found.push((node, "*".to_owned())),
                ("import_specifier", _) => {
                    let name = node.child_by_field_name("name").map(|name| self.text(name).to_owned());
                    let local = node.child_by_field_name("alias").or_else(|| node.child_by_field_name("name"));
                    if let (Some(name), Some(local)) = (name, local) {
                        found.push((local, name));
                    }
                }
                _ => {}
            }
            true
        });
        for (local, name) in found {
            let name = self.name(&name);
            names.push(name);
            self.bind(local, Origin::Import { specifier, name });
        }
        self.out.imports.push(ImportFact { specifier, names, modules: Vec::new(), line, implied: false });
    }

    fn export(&mut self, statement: Node<'_>) {
        let specifier = self.specifier(statement);
        if let Some(specifier) = specifier {
            let line = self.line(statement);
            self.out.imports.push(ImportFact {
                specifier,
                names: Vec::new(),
                modules: Vec::new(),
                line,
                implied: false,
            });
        }
        let mut found = Vec::new();
        let mut star = false;
        each(statement, |node, depth| {
            match node.kind() {
                "*" if depth == 1 => star = true,
                "export_specifier" => {
                    let name = node.child_by_field_name("name").map(|name| self.text(name));
                    let exported = node.child_by_field_name("alias").map(|alias| self.text(alias)).or(name);
                    if let (Some(name), Some(exported)) = (name, exported) {
                        found.push((exported, name));
                    }
                }
                "variable_declarator"
                | "function_declaration"
                | "class_declaration"
                | "enum_declaration"
                | "interface_declaration"
                | "type_alias_declaration" => {
                    if let Some(name) = node.child_by_field_name("name") {
                        found.push((self.text(name), self.text(name)));
                    }
                    return false;
                }
                _ => {}
            }
            !matches!(node.kind(), "statement_block" | "class_body")
        });
        for (exported, name) in found {
            let value = match (specifier, self.bindings.get(name)) {
                (Some(specifier), _) => ExportValue::From { specifier, name: self.name(name) },
                (None, Some(binding)) => ExportValue::Binding(*binding),
                (None, None) => ExportValue::Unknown,
            };
            let local = if specifier.is_some() { None } else { Some(self.name(name)) };
            let name = self.name(exported);
            self.out.exports.push(ExportFact { name, local, value, internal: false });
        }
        if let (true, Some(specifier)) = (star, specifier) {
            let name = self.name("*");
            self.out.exports.push(ExportFact {
                name,
                local: None,
                value: ExportValue::From { specifier, name },
                internal: false,
            });
        }
    }

    /// Symbols and calls, in source order.
    fn walk(&mut self, root: Node<'_>) {
        let mut scopes: Vec<(usize, String, SymbolIndex)> = Vec::new();
        each(root, |node, depth| {
            while scopes.last().is_some_and(|(at, _, _)| *at >= depth) {
                scopes.pop();
            }
            if let Some(kind) = symbol_kind(node)
                && let Some(name) = node.child_by_field_name("name")
                && !node.is_error()
            {
                let text = self.text(name);
                let qualified = names::kept(match scopes.last() {
                    Some((_, around, _)) => format!("{around}.{text}"),
                    None => text.to_owned(),
                });
                let ordinal = self.ordinals.entry(qualified.clone()).or_insert(0);
                let exported = node.parent().is_some_and(|parent| parent.kind() == "export_statement");
                self.out.symbols.push(Symbol {
                    name: names::kept(text.to_owned()),
                    qualified: qualified.clone(),
                    ordinal: *ordinal,
                    kind: kind.to_owned(),
                    line: self.positions.line(index(node.start_byte())),
                    end_line: self.positions.line(index(node.end_byte().saturating_sub(1))),
                    exported,
                });
                *ordinal += 1;
                scopes.push((depth, qualified, index(self.out.symbols.len() - 1)));
            }
            if matches!(node.kind(), "call_expression" | "new_expression") && !node.has_error() {
                self.lower_call(node, scopes.last().map(|(_, _, symbol)| *symbol), 0);
            }
            !node.is_error()
        });
    }

    fn lower(&mut self, node: Node<'_>, depth: u32) -> ExprId {
        if depth > DEEPEST || node.has_error() {
            return 0;
        }
        match node.kind() {
            "identifier" => {
                let text = self.text(node);
                match (self.bindings.get(text), self.declared.contains_key(text)) {
                    (Some(binding), _) => {
                        let binding = *binding;
                        self.add(Expr::Binding(binding))
                    }
                    (None, true) => 0,
                    (None, false) => {
                        let name = self.name(text);
                        self.add(Expr::Global(name))
                    }
                }
            }
            "undefined" | "null" => self.add(Expr::Null),
            "string" => {
                let text = self.text(node);
                let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
                let digest = text::digest(inner);
                if text::may_keep(inner) && !inner.contains('\\') {
                    let name = self.name(inner);
                    self.add(Expr::Text(name, digest))
                } else {
                    self.add(Expr::Literal(Some(digest)))
                }
            }
            "member_expression" => {
                let (Some(object), Some(property)) =
                    (node.child_by_field_name("object"), node.child_by_field_name("property"))
                else {
                    return 0;
                };
                let object = self.lower(object, depth + 1);
                let name = self.name(self.text(property));
                self.add(Expr::Member(object, name))
            }
            "parenthesized_expression" | "non_null_expression" | "as_expression" | "satisfies_expression" => {
                node.named_child(0).map_or(0, |inner| self.lower(inner, depth + 1))
            }
            "await_expression" => {
                let value = node.named_child(0).map_or(0, |inner| self.lower(inner, depth + 1));
                self.add(Expr::Await(value))
            }
            "call_expression" | "new_expression" => self.lower_call(node, None, depth),
            "object" => {
                let mut properties = Vec::new();
                let mut cursor = node.walk();
                for property in node.named_children(&mut cursor) {
                    match property.kind() {
                        "pair" => match (property.child_by_field_name("key"), property.child_by_field_name("value")) {
                            (Some(key), Some(value)) if key.kind() != "computed_property_name" => {
                                let value = self.lower(value, depth + 1);
                                let key = self.text(key).trim_matches(['"', '\'']);
                                let key = self.name(key);
                                properties.push(Property::Named(key, value));
                            }
                            _ => properties.push(Property::Computed),
                        },
                        "shorthand_property_identifier" => {
                            let key = self.name(self.text(property));
                            properties.push(Property::Named(key, 0));
                        }
                        "spread_element" => properties.push(Property::Spread(0)),
                        "comment" => {}
                        _ => properties.push(Property::Computed),
                    }
                }
                self.add(Expr::Object(properties))
            }
            "arrow_function" | "function_expression" => {
                self.out.functions.push(Function::default());
                let function = index(self.out.functions.len() - 1);
                self.add(Expr::Function(function))
            }
            _ => 0,
        }
    }

    fn lower_call(&mut self, node: Node<'_>, symbol: Option<SymbolIndex>, depth: u32) -> ExprId {
        if let Some(expr) = self.lowered.get(&node.id()).copied() {
            if let Expr::Call { call, .. } = *self.out.expr(expr) {
                let call = &mut self.out.calls[call as usize];
                call.symbol = call.symbol.or(symbol);
            }
            return expr;
        }
        let construct = node.kind() == "new_expression";
        let field = if construct { "constructor" } else { "function" };
        let Some(function) = node.child_by_field_name(field) else {
            return 0;
        };
        let callee = self.lower(function, depth + 1);
        let mut arguments = Vec::new();
        if let Some(list) = node.child_by_field_name("arguments") {
            let mut cursor = list.walk();
            for argument in list.named_children(&mut cursor) {
                match argument.kind() {
                    "spread_element" => arguments.push(Argument { value: 0, spread: true }),
                    "comment" => {}
                    _ => arguments.push(Argument { value: self.lower(argument, depth + 1), spread: false }),
                }
            }
        }
        let last = function.child_by_field_name("property").unwrap_or(function);
        let (line, column) = self.positions.line_column(index(node.start_byte()));
        let (callee_line, callee_column) = self.positions.line_column(index(last.start_byte()));
        let call = index(self.out.calls.len());
        let expr = self.add(Expr::Call { call, callee, arguments, construct });
        self.lowered.insert(node.id(), expr);
        self.out.calls.push(CallFact {
            keywords: None,
            expr,
            line,
            column,
            end_line: self.positions.line(index(node.end_byte().saturating_sub(1))),
            callee_line,
            callee_column,
            symbol,
            function: None,
            hash: self.hash(node),
            // How results are used is not known without scopes.
            uses: Uses { escapes: true, ..Uses::default() },
        });
        expr
    }

    fn hash(&self, node: Node<'_>) -> u64 {
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        each(node, |node, _| {
            let name = if node.kind().ends_with("identifier") { self.text(node) } else { "" };
            for byte in node.kind().bytes().chain([0]).chain(name.bytes()) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
            }
            true
        });
        hash
    }
}

fn symbol_kind(node: Node<'_>) -> Option<&'static str> {
    match node.kind() {
        "function_declaration" | "generator_function_declaration" => Some("function"),
        "class_declaration" | "abstract_class_declaration" => Some("class"),
        "method_definition" => Some("method"),
        "interface_declaration" => Some("interface"),
        "type_alias_declaration" => Some("type"),
        "enum_declaration" => Some("enum"),
        "variable_declarator" => match node.child_by_field_name("value").map(|value| value.kind()) {
            Some("arrow_function" | "function_expression") => Some("function"),
            _ => None,
        },
        _ => None,
    }
}
