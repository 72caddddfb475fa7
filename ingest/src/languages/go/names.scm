; How names come by their values.

((short_var_declaration left: (_) @_pattern right: (_) @_value) @assign (#set! visible after))
((var_spec name: (identifier) @_pattern) @assign (#set! visible after))
(var_spec value: (_) @_value) @assign
(var_spec type: (_) @_type) @assign
((const_spec name: (identifier) @_pattern) @assign (#set! visible after))
(const_spec value: (_) @_value) @assign
((receive_statement left: (_) @_pattern) @assign (#set! visible after))
(type_switch_statement alias: (expression_list) @assign)

(assignment_statement left: (_) @_pattern right: (_) @_value) @update

((range_clause left: (_) @_pattern right: (_) @_value) @each (#set! visible after))

(function_declaration parameters: (parameter_list (parameter_declaration name: (identifier) @_pattern type: (_) @_type) @parameter))
(function_declaration result: (parameter_list (parameter_declaration name: (identifier) @_pattern type: (_) @_type) @parameter))
(method_declaration parameters: (parameter_list (parameter_declaration name: (identifier) @_pattern type: (_) @_type) @parameter))
(method_declaration result: (parameter_list (parameter_declaration name: (identifier) @_pattern type: (_) @_type) @parameter))
(func_literal parameters: (parameter_list (parameter_declaration name: (identifier) @_pattern type: (_) @_type) @parameter))
(func_literal result: (parameter_list (parameter_declaration name: (identifier) @_pattern type: (_) @_type) @parameter))
((variadic_parameter_declaration name: (identifier) @_pattern) @parameter (#set! rest))
(type_parameter_declaration name: (identifier) @_pattern) @assign

[(package_clause) (import_spec)] @import
