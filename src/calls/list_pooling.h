/* paddle.nn.functional: pooling. Notation: calls/row.h. */
#define WITH_PLACES(n)                                                                           \
    "max_pool" n "d_with_index: X=x ksize=window(kernel_size," n ",'kernel_size') "              \
    "strides=window(stride," n ",'stride',kernel_size) paddings=paddings(padding," n ",'NCHW') " \
    "adaptive=False global_pooling=False -> Out Mask as max_pool" n "d_with_index if "           \
    "true(return_mask)"
FUNCTION("nn.functional.max_pool2d",
         "x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, "
         "data_format='NCHW', name=None",
         "format(data_format,'NCHW','NHWC'); with_mask(data_format,'NCHW','max_pool2d') if "
         "true(return_mask); pool2d: X=x pooling_type='max' "
         "ksize=window(kernel_size,2,'kernel_size') adaptive=False "
         "strides=window(stride,2,'stride',kernel_size) paddings=paddings(padding,2,data_format) "
         "padding_algorithm=padding_word(padding) global_pooling=False use_cudnn=True "
         "ceil_mode=ceil_mode use_mkldnn=False exclusive=True data_format=data_format as pool2d "
         "unless true(return_mask); " WITH_PLACES("2"),
         "The largest value of every window.")
FUNCTION("nn.functional.max_pool3d",
         "x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, "
         "data_format='NCDHW', name=None",
         "format(data_format,'NCDHW','NDHWC'); with_mask(data_format,'NCDHW','max_pool3d') if "
         "true(return_mask); pool3d: X=x pooling_type='max' "
         "ksize=window(kernel_size,3,'kernel_size') adaptive=False "
         "strides=window(stride,3,'stride',kernel_size) paddings=paddings(padding,3,data_format) "
         "padding_algorithm=padding_word(padding) global_pooling=False use_cudnn=True "
         "ceil_mode=ceil_mode exclusive=False data_format=data_format as pool3d unless "
         "true(return_mask); " WITH_PLACES("3"),
         "The largest value of every window.")
#define AVERAGE(n)                                                                          \
    "pool" n "d: X=x pooling_type='avg' ksize=window(kernel_size," n ",'kernel_size') "     \
    "adaptive=False strides=window(stride," n ",'stride',kernel_size) "                     \
    "paddings=paddings(padding," n ",data_format) padding_algorithm=padding_word(padding) " \
    "global_pooling=False use_cudnn=True ceil_mode=ceil_mode "
#define DIVIDED(n)                                                                          \
    "data_format=data_format as pool" n "d keep mean; scale: X=mean "                       \
    "scale=per_window(kernel_size," n ",divisor_override) bias=0.0 called tmp if "          \
    "divisor_override if program(); scale: X=mean "                                         \
    "scale=per_window(kernel_size," n ",divisor_override) bias=0.0 if divisor_override if " \
    "eager() if type(mean,'float32'); call full: shape=[] "                                 \
    "fill_value=per_window(kernel_size," n ",divisor_override) dtype=dtype_of(mean) keep "  \
    "factor if divisor_override if eager() unless type(mean,'float32'); call multiply: "    \
    "x=mean y=factor if factor"
FUNCTION("nn.functional.avg_pool2d",
         "x, kernel_size, stride=None, padding=0, ceil_mode=False, exclusive=True, "
         "divisor_override=None, data_format='NCHW', name=None",
         "format(data_format,'NCHW','NHWC'); " AVERAGE(
             "2") "use_mkldnn=False exclusive=exclusive " DIVIDED("2"),
         "The mean of every window.")
FUNCTION("nn.functional.avg_pool3d",
         "x, kernel_size, stride=None, padding=0, ceil_mode=False, exclusive=True, "
         "divisor_override=None, data_format='NCDHW', name=None",
         "format(data_format,'NCDHW','NDHWC'); " AVERAGE("3") "exclusive=exclusive " DIVIDED("3"),
         "The mean of every window.")
#define POOL1D(how, exclusive)                                                              \
    "pool_rank(x,3); call unsqueeze: x=x axis=[2] keep image; pool2d: X=image "             \
    "pooling_type='" how "' ksize=window(kernel_size,1,'kernel_size',1,1) adaptive=False "  \
    "strides=window(stride,1,'stride',kernel_size,1) paddings=paddings(padding,1,'NCL',1) " \
    "padding_algorithm=padding_word(padding) global_pooling=False use_cudnn=True "          \
    "ceil_mode=ceil_mode use_mkldnn=False exclusive=" exclusive " data_format='NCHW' as "   \
    "pool2d "
FUNCTION("nn.functional.avg_pool1d",
         "x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None",
         POOL1D("avg", "exclusive") "; call squeeze: x=. axis=[2]",
         "The mean of every window of sequences.")
FUNCTION("nn.functional.max_pool1d",
         "x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None",
         POOL1D("max",
                "True") "unless true(return_mask); call squeeze: x=. axis=[2] unless "
                        "true(return_mask); max_pool2d_with_index: X=image "
                        "ksize=window(kernel_size,1,'kernel_size',1,1) "
                        "strides=window(stride,1,'stride',kernel_size,1) "
                        "paddings=paddings(padding,1,'NCL',1) "
                        "adaptive=False global_pooling=False -> Out Mask as max_pool2d_with_index "
                        "keep out mask if "
                        "true(return_mask); call squeeze: x=out axis=[2] keep out if "
                        "true(return_mask); call "
                        "squeeze: x=mask axis=[2] keep mask if true(return_mask); give out mask if "
                        "true(return_mask)",
         "The largest value of every window of sequences [batch, channels, length].")
#undef WITH_PLACES
#undef AVERAGE
#undef DIVIDED
#undef POOL1D
