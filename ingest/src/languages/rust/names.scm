; How names come by their values.

(for_expression pattern: (_) @each (#set! visible after))
((match_pattern . (_) @_pattern) @each (#set! visible after))

(parameter pattern: (self) @_name) @receiver
(self_parameter (self) @_name) @receiver
(parameters (parameter pattern: (_) @_pattern type: (_) @_type) @parameter)
(closure_parameters (parameter pattern: (_) @_pattern type: (_) @_type) @parameter)
(closure_parameters (_pattern) @parameter)

((let_declaration pattern: (_) @_pattern) @assign (#set! visible after))
(let_declaration value: (_) @_value) @assign
(let_declaration type: (_) @_type) @assign
((let_condition pattern: (_) @_pattern value: (_) @_value) @assign (#set! visible after))
(const_item name: (identifier) @_pattern value: (_) @_value) @assign
(const_item type: (_) @_type) @assign
(static_item name: (identifier) @_pattern value: (_) @_value) @assign
(static_item type: (_) @_type) @assign

(assignment_expression left: (_) @_pattern right: (_) @_value) @update
(compound_assignment_expr left: (_) @_pattern) @update

((tuple_struct_pattern type: (identifier) @_key . (_) @_value .) @same (#any-of? @_key "Some" "Ok"))
[(ref_pattern (_) @_value) (reference_pattern (_) @_value .) (mut_pattern (_) @_value .)] @same
(tuple_pattern) @elements

[(use_declaration) (mod_item !body)] @import
