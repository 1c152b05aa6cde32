/* paddle.nn.functional: convolution. Notation: calls/row.h. */
#define CONV2D                                                                                \
    "conv2d: Input=x Filter=weight strides=window(stride,2,'stride') "                        \
    "paddings=paddings(padding,2,data_format) dilations=window(dilation,2,'dilation') "       \
    "groups=groups use_cudnn=False use_mkldnn=False padding_algorithm=padding_word(padding) " \
    "data_format=data_format -> Output "
#define CONV1D                                                                                \
    "conv2d: Input=image Filter=filter strides=window(stride,1,'stride',1,1) "                \
    "paddings=paddings(padding,1,data_format,1) dilations=window(dilation,1,'dilation',1,1) " \
    "groups=groups use_cudnn=False use_mkldnn=False padding_algorithm=padding_word(padding) " \
    "data_format=image(data_format) -> Output "
FUNCTION("nn.functional.conv2d",
         "x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format='NCHW', "
         "name=None",
         "format(data_format,'NCHW','NHWC') conv_channels(x,4,data_format,groups,'conv2d'); "
         "depthwise_" CONV2D "keep out if deep(x,weight,groups,data_format); " CONV2D
         "keep out unless out; elementwise_add: X=out Y=bias axis=channel_axis(data_format) if "
         "eager() if bias; call reshape: x=bias shape=sizes(bias,'1/d0/1/1') keep wide if "
         "program() if bias if is(data_format,'NCHW'); call reshape: x=bias "
         "shape=sizes(bias,'1/1/1/d0') keep wide if program() if bias if is(data_format,'NHWC'); "
         "elementwise_add: X=out Y=wide axis=-1 if wide",
         "Convolution of images with filters [out, in / groups, height, width].")
FUNCTION(
    "nn.functional.conv1d",
    "x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format='NCL', "
    "name=None",
    "format(data_format,'NCL','NLC') conv_channels(x,3,data_format,groups,'conv1d') as conv2d; "
    "give weight keep own; call clone: x=weight keep own if program(); call unsqueeze: x=own "
    "axis=[-2] keep filter; call unsqueeze: x=x axis=one_more(data_format,-2,-3) keep image; "
    "depthwise_" CONV1D "keep out if deep(x,weight,groups,data_format); " CONV1D
    "keep out unless out; elementwise_add: X=out Y=bias axis=channel_axis(data_format) called "
    "elementwise_add keep out if bias; call squeeze: x=out "
    "axis=one_more(data_format,-2,-3)",
    "Convolution of sequences: conv2d over one more dimension.")
FUNCTION(
    "nn.functional.conv3d",
    "x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format='NCDHW', "
    "name=None",
    "conv3d: format(data_format,'NCDHW','NDHWC') conv_channels(x,5,data_format,groups,'conv3d') "
    "Input=x Filter=weight strides=window(stride,3,'stride') "
    "paddings=paddings(padding,3,data_format) dilations=window(dilation,3,'dilation') "
    "groups=groups padding_algorithm=padding_word(padding) data_format=data_format -> Output; "
    "elementwise_add: X=. Y=bias axis=channel_axis(data_format) called elementwise_add if "
    "bias",
    "Convolution with filters [out, in / groups, depth, height, width].")
#undef CONV2D
#undef CONV1D
