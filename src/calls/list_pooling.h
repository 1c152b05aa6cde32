/* paddle.nn.functional: pooling. The notation is told in calls/row.h. */
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
#undef WITH_PLACES
