//! What has a name beside values and classes: interfaces, aliases, enums and namespaces.

use oxc_ast::ast::{
    Expression, TSEnumDeclaration, TSEnumMemberName, TSInterfaceDeclaration, TSNamespaceDeclaration,
    TSNamespaceDeclarationBody, TSTypeAliasDeclaration,
};
use oxc_ast_visit::walk;

use super::facts::{
    BindingId, ExportFact, ExportValue, Expr, Member, MemberKind, Origin, Property, SymbolIndex, Write,
};
use super::lower::Lower;

impl<'a> Lower<'_, 'a> {
    pub(super) fn interface_declaration(&mut self, it: &TSInterfaceDeclaration<'a>) {
        let symbol = self.symbol(&it.id.name, "interface", it.span);
        let ty = self.interface(it);
        self.type_binding(it.id.symbol_id.get(), ty, symbol);
    }

    pub(super) fn alias_declaration(&mut self, it: &TSTypeAliasDeclaration<'a>) {
        let symbol = self.symbol(&it.id.name, "type", it.span);
        if let Some(ty) = self.type_of(&it.type_annotation) {
            self.type_binding(it.id.symbol_id.get(), ty, symbol);
        }
    }

    fn type_binding(&mut self, id: Option<oxc_syntax::symbol::SymbolId>, ty: u32, symbol: SymbolIndex) {
        let Some(id) = id else { return };
        let binding = self.binding(id);
        let binding = &mut self.out.bindings[binding as usize];
        // A class and an interface of one name are one thing; the class says more.
        if binding.origin == Origin::Unknown {
            binding.origin = Origin::Type(ty);
            binding.symbol = Some(symbol);
        }
    }

    pub(super) fn enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        let symbol = self.symbol(&it.id.name, "enum", it.span);
        self.inside(symbol, |this| walk::walk_ts_enum_body(this, &it.body));
        // Members that are texts are read as those of an object are.
        let mut members = Vec::new();
        for member in &it.body.members {
            if let (TSEnumMemberName::Identifier(name), Some(Expression::StringLiteral(text))) =
                (&member.id, &member.initializer)
            {
                let name = self.name(&name.name);
                members.push(Property::Named(name, self.text(&text.value)));
            }
        }
        let value = (!members.is_empty()).then(|| self.add(Expr::Object(members)));
        if let Some(id) = it.id.symbol_id.get() {
            let binding = self.binding(id);
            let binding = &mut self.out.bindings[binding as usize];
            binding.symbol = Some(symbol);
            if let Some(value) = value
                && binding.origin == Origin::Unknown
            {
                binding.origin = Origin::Value(value, Vec::new());
            }
        }
    }

    pub(super) fn namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        let symbol = self.symbol(&it.id.name, "namespace", it.span);
        if let Some(id) = it.id.symbol_id.get() {
            let binding = self.binding(id);
            let binding = &mut self.out.bindings[binding as usize];
            binding.symbol = binding.symbol.or(Some(symbol));
        }
        // What a namespace exports is not exported by the file: it is a member of the namespace.
        let exports = self.out.exports.len();
        self.inside(symbol, |this| match &it.body {
            TSNamespaceDeclarationBody::TSModuleBlock(block) => walk::walk_ts_module_block(this, block),
            TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => {
                this.namespace_declaration(inner);
                this.export_symbol(inner.id.symbol_id.get(), &inner.id.name);
            }
        });
        let members = self.out.exports.split_off(exports);
        for member in &members {
            self.exported.remove(member);
        }
        if let Some(id) = it.id.symbol_id.get() {
            let binding = self.binding(id);
            self.add_namespace(binding, &members);
        }
    }

    /// Gives what a namespace exports to its name, which may have been declared before.
    fn add_namespace(&mut self, binding: BindingId, members: &[ExportFact]) {
        let mut properties = Vec::with_capacity(members.len());
        for member in members {
            if let ExportValue::Binding(value) = member.value {
                let value = self.add(Expr::Binding(value));
                properties.push((member.name, value));
            }
        }
        match self.out.bindings[binding as usize].origin.clone() {
            Origin::Class(class) => {
                let line = self.out.bindings[binding as usize].line;
                let members = properties.into_iter().map(|(name, value)| Member {
                    name,
                    is_static: true,
                    kind: MemberKind::Field(None, Some(value)),
                    line,
                });
                self.out.classes[class as usize].members.extend(members);
            }
            Origin::Function(_) => {
                for (name, value) in properties {
                    let object = self.add(Expr::Binding(binding));
                    let target = self.add(Expr::Member(object, name));
                    self.out.written.push((target, Write { value, appends: false, certain: true, fallback: false }));
                }
            }
            origin => {
                let mut all: Vec<Property> = Vec::new();
                if let Origin::Value(before, _) = origin {
                    all.push(Property::Spread(before));
                }
                all.extend(properties.into_iter().map(|(name, value)| Property::Named(name, value)));
                let value = self.add(Expr::Object(all));
                self.out.bindings[binding as usize].origin = Origin::Value(value, Vec::new());
            }
        }
    }
}
